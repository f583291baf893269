"""A study of our own: do attributions find the evidence where it is known?"""

from replication.papers import Card

CARD = Card.read(__file__)
