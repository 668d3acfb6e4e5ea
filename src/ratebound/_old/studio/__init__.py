"""A page on this machine for people who do not code: from a table to a signed report."""
