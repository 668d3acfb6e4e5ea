"""The solutions of a game: the last, best and average iterates, and the shrunk mixture."""

from ratebound._old.base.linear_program import shrink_weights as shrink_weights
