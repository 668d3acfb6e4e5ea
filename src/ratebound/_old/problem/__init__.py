"""Promises on data: populations, problems, and their compiled form."""
