"""User tables: reading files, finding out what each column holds, and turning rows into features."""
