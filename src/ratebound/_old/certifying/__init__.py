"""What can be said about new rows: certificates, the rows they need, and watching in production."""
