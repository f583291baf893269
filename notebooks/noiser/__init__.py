"""Noiser (Ghasemi Madani et al. 2025)."""
