"""Forecast P(cell | x), solve for m numbers, choose a rule, deploy the models that were judged."""
