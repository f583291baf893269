"""What a unit of this study computes: mechanisms, explanations, gates, metrics."""
