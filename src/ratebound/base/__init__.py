"""What every room may need and none owns."""
