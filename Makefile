# `make demo`, `make test`, `make check`, `make bare`, `make lowest` and `make bench` each work in a fresh clone:
# the environment in .venv is made on demand, and again only when pyproject.toml changes.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

# Models here are small: one thread each is faster, and far steadier, than sharing the cores.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test bare lowest check bench clean

demo: $(READY)
	$(BIN)/ratebound reproduce adult --out build/demo

test: $(READY)
	$(BIN)/python -m pytest -n 2

# Without any extra: NumPy, SciPy and scikit-learn are enough for all that is tested here. Tests skip what
# they lack by themselves, and two modules cannot even be read. Left out is what runs long and asks no more
# of other packages than it does with all of them.
bare:
	$(PYTHON) -m venv --clear .venv-bare
	.venv-bare/bin/python -m pip install --quiet --editable . pytest pytest-xdist hypothesis
	.venv-bare/bin/python -m pytest -n 2 tests src --ignore tests/experiments --ignore tests/datasets \
		--ignore tests/test_examples.py --ignore tests/test_readme.py --ignore tests/commands/test_reproduce.py \
		--ignore tests/estimators/test_many_promises.py --ignore tests/auditing/test_coverage.py \
		--ignore tests/commands/test_output.py --ignore tests/commands/test_killed.py \
		--ignore tests/estimators/test_new_rows.py --ignore tests/certifying/test_simulated.py \
		--ignore src/ratebound/learners/_interpolation.py --ignore src/ratebound/learners/_lattice_network.py \
		-k "not changed_byte and not cut_short and not own_checks and not whole_program and not explaining_"

# With the lowest versions pyproject.toml declares. Left out: what needs PyTorch, whose old wheels are
# gigabytes, and what runs long without asking more of other packages. Old ones use what newer ones deprecate.
lowest:
	$(PYTHON) -m venv --clear .venv-lowest
	$(PYTHON) tests/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip install --quiet --constraint .venv-lowest/lowest.txt --editable '.[dev]'
	.venv-lowest/bin/python -m pytest -n 2 -W ignore::DeprecationWarning tests --ignore tests/experiments \
		--ignore tests/test_examples.py --ignore tests/test_readme.py --ignore tests/commands/test_reproduce.py \
		--ignore tests/estimators/test_new_rows.py --ignore tests/certifying/test_simulated.py \
		--ignore tests/game/test_folds.py --ignore tests/game/test_judge.py \
		--ignore tests/estimators/test_many_promises.py --ignore tests/auditing/test_coverage.py \
		--ignore tests/commands/test_output.py --ignore tests/commands/test_killed.py \
		--ignore tests/certifying/test_monitor.py --ignore tests/estimators/test_single_rates.py \
		--ignore tests/solution/test_price.py -k "not own_checks and not changed_byte and not cut_short"

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m pip install --quiet cooper-optim fairlearn  # peers to compare with
	$(BIN)/python benchmarks/step.py
	$(BIN)/python benchmarks/compile.py
	$(BIN)/python benchmarks/adult.py
	$(BIN)/python benchmarks/oracle.py
	$(BIN)/python benchmarks/boosted.py
	$(BIN)/python benchmarks/thresholds.py
	$(BIN)/python benchmarks/coverage.py
	$(BIN)/python benchmarks/certificates.py
	$(BIN)/python benchmarks/monitor.py
	$(BIN)/python benchmarks/new_rows.py --redraws 8

clean:
	rm -rf .venv .venv-bare .venv-lowest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[torch,dev]'
	touch $@
