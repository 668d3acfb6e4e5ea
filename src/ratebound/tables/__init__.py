"""Tables as people have them: reading files, what each column is, and how rows become features."""
