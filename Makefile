# `make demo`, `make test`, `make check` and `make bench` each work in a fresh clone:
# the environment in .venv is made on demand, and again only when pyproject.toml changes.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

# Models here are small: one thread each is faster, and far steadier, than sharing the cores.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test check bench clean

demo: $(READY)
	$(BIN)/ratebound reproduce adult --out build/demo

test: $(READY)
	$(BIN)/python -m pytest -n 2

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m pip install --quiet cooper-optim fairlearn  # peers to compare with
	$(BIN)/python benchmarks/step.py
	$(BIN)/python benchmarks/adult.py
	$(BIN)/python benchmarks/oracle.py
	$(BIN)/python benchmarks/boosted.py
	$(BIN)/python benchmarks/thresholds.py

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[torch,dev]'
	touch $@
