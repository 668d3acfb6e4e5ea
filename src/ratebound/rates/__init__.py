"""What may be said: conditions, sums, the table of rates, goals, text. Nothing here holds data."""
