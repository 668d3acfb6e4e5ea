"""Goals that are not sums of rates, as sequences of linear problems; one module per method."""
