"""Metrics: pure functions of model outputs, with a thin driver beside them that asks for the outputs."""
