"""What comes out of a game: the last, the best, the average iterate, and the shrunk mixture."""

from ratebound.base.linear_program import shrink_weights as shrink_weights
