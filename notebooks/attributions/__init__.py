"""A study of our own: do attributions find the evidence where it is known?"""
