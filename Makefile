# `make demo`, `make test`, `make check`, `make dist`, `make lowest`, `make docs` and `make bench` each work in a
# fresh clone: their environments are made on demand, and again only when pyproject.toml changes.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
ENVIRONMENTS := $(READY) .venv-dist/.ready .venv-lowest/.ready

# Models here are small: one thread each is faster, and far steadier, than sharing the cores.
# LightGBM asks for all cores by itself, and its threads would spin while they wait for each other.
export OMP_NUM_THREADS ?= 1
export OMP_THREAD_LIMIT ?= 1

# Modules are compiled when they are first imported: to compile all of every library takes longer.
INSTALL := -m pip install --quiet --no-compile

.PHONY: demo test dist lowest check docs bench bench-gpu bench-rows peers before-after clean environments

# A model from a CSV with its report, a certificate on rows it has not seen, and the table of the paper.
demo: $(READY)
	$(BIN)/python docs/customers.py build/demo
	$(BIN)/ratebound train build/demo/customers.toml --force
	$(BIN)/ratebound certify build/demo/model build/demo/new.csv --label bought
	$(BIN)/ratebound reproduce adult --out build/demo
	@echo "The report of the model: build/demo/model/report.html. The table of the paper: build/demo/index.html."

test: $(READY)
	$(BIN)/python -m pytest -n 2

# The wheel and the source archive, in dist/. The wheel is then tested where it would be used: in a fresh
# environment, without any extra. NumPy, SciPy and scikit-learn are enough for all that is tested here, and
# tests skip what they lack by themselves. Only rooms that meet other libraries are tested again, without what
# runs long and asks no more of these than it does with all of them.
dist: $(READY) .venv-dist/.ready
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	.venv-dist/bin/python $(INSTALL) --force-reinstall --no-deps dist/*.whl
	.venv-dist/bin/python -m pytest -n 2 --pyargs ratebound tests/rates tests/problem $(LEARNING) \
		tests/_old/problem tests/_old/tables tests/_old/solution tests/_old/commands tests/test_exports.py \
		tests/_old/test_rooms.py tests/_old/test_moved.py $(LEFT_OUT) $(OF_FRAMES) \
		-k "$(SHORT) and not whole_program and not explaining_"

# With the lowest versions pyproject.toml declares, the same rooms. PyTorch's old wheels are gigabytes, so
# what needs it is left out. Old libraries use what newer ones deprecate.
lowest: .venv-lowest/.ready
	.venv-lowest/bin/python -m pytest -n 2 -W ignore::DeprecationWarning tests/rates tests/problem $(LEARNING) \
		tests/_old/tables tests/_old/solution tests/_old/certifying $(LEFT_OUT) \
		--ignore tests/_old/certifying/test_simulated.py --ignore tests/_old/certifying/test_monitor.py \
		--ignore tests/_old/certifying/test_pair.py --ignore tests/_old/certifying/test_several_classes.py \
		--ignore tests/_old/solution/test_price.py -k "$(SHORT)"

LEFT_OUT := --ignore tests/_old/commands/test_reproduce.py --ignore tests/_old/commands/test_output.py \
	--ignore tests/_old/commands/test_killed.py
# Tests of learning that need neither data frames nor boosted trees.
LEARNING := $(addprefix tests/learning/test_, confidence.py folds.py solve.py status.py threshold.py uncertain.py)
# Tests of columns in data frames, which need pandas, polars and PyArrow.
OF_FRAMES := --ignore tests/rates/test_conditions.py --ignore tests/problem/test_comparison.py \
	--ignore tests/problem/test_lines.py --ignore tests/problem/test_population.py
SHORT := not own_checks and not scikit_learns_checks and not changed_byte and not cut_short

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site, in build/docs/html: every example runs, every warning is an error, nothing is loaded from outside.
docs: $(READY)
	$(BIN)/python docs/rates.py
	$(BIN)/python -m sphinx -q -W --keep-going -d build/docs/doctrees docs build/docs/html
	$(BIN)/python docs/check.py build/docs/html

# How fast it is, beside floors and peers: docs/performance.md, in about a quarter of an hour.
bench: $(READY)
	$(BIN)/python $(INSTALL) $(PEERS)
	$(BIN)/python benchmarks/page.py

# The same where there is a GPU: docs/performance_gpu.md. DATA is the folder of the experiments' files.
bench-gpu: $(READY)
	$(BIN)/python benchmarks/page.py --gpu $(if $(DATA),--data $(DATA))

# Whether anything got slower since a commit: the tables of both, measured in turn.
before-after: $(READY)
	$(BIN)/python benchmarks/before_after.py $(COMMIT)

# What peers reach at the same promises: docs/peers.md. Environments and results are kept in build/peers.
peers: $(READY)
	$(BIN)/python benchmarks/beside.py

# What models reach, and how often intervals and certificates are right: hours.
bench-rows: $(READY)
	for name in $(ROWS); do $(BIN)/python benchmarks/$$name.py || exit 1; done
	$(BIN)/python benchmarks/new_rows.py
	$(BIN)/python benchmarks/lattice.py --only fit

PEERS := cooper-optim fairlearn
ROWS := claims covered certificates monitor price together communities

clean:
	rm -rf .venv .venv-dist .venv-lowest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

environments: $(ENVIRONMENTS)

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) --editable '.[torch,dev,docs]'
	touch $@

.venv-dist/.ready: pyproject.toml
	$(PYTHON) -m venv --clear .venv-dist
	.venv-dist/bin/python $(INSTALL) . pytest pytest-xdist hypothesis
	touch $@

.venv-lowest/.ready: pyproject.toml tests/lowest.py
	$(PYTHON) -m venv --clear .venv-lowest
	$(PYTHON) tests/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/bin/python $(INSTALL) --constraint .venv-lowest/lowest.txt --editable '.[dev]'
	touch $@
