"""What the words mean on data: populations, problems, and their compiled form."""
