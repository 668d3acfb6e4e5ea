"""What it means on rows: population, problem, compile, count, lines."""
