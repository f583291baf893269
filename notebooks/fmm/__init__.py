"""Faithfulness measurable models and MaSF (Madsen et al. 2024)."""
