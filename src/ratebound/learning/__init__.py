"""Forecast P(cell | x), solve for m numbers, choose a rule with room for new rows, deploy what was judged."""
