"""ROAR and Recursive ROAR (Madsen et al. 2022)."""
