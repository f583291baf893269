"""Soft metrics (Zhao and Aletras 2023)."""
