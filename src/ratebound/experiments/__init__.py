"""The paper's seven experiments, one module a problem, and what it takes to run and show them."""
