"""The paper's seven experiments: its problems, and what it takes to run them and show the tables."""
