"""What may be said: rates, expressions, constraints and goals. No data, no arrays."""
