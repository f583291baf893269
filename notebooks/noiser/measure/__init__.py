"""What a unit of this paper computes: prompts, models, scores, a judge."""
