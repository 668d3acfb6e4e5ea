"""How a problem is solved: multipliers, proxies, estimates from batches, and the rounds."""
