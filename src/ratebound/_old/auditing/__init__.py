"""What was promised and what was kept: the same words, on another population."""
