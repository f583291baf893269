"""A study of our own: which faithfulness metric tells better explanations from worse ones?"""
