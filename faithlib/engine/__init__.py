"""Perturbed inputs, and how they go through a model: all evaluations of erased texts."""
