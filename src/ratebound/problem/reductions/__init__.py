"""Goals that are no sums of rates, as sequences of linear problems, a module for each way to do it."""
