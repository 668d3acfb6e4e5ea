"""Code that every package here may need and none owns."""
