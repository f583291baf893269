"""Ground truth, version 2: which faithfulness metric tells better explanations from worse ones, and when?"""
