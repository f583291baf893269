"""What a unit of this study computes: models, texts, explanations whose errors are known, entries."""
