PYTHON ?= python3
BIN = .venv/bin
INSTALLED = .venv/.installed
# Tests sync thousands of files to the disk, for nothing: they are kept in memory where there is plenty of it.
SCRATCH := $(shell df -k --output=avail /dev/shm 2>/dev/null | awk 'END {exit $$1 < 4000000}' && echo /dev/shm || echo $${TMPDIR:-/tmp})
# Each test process has one thread, as they are more than the cores.
PYTEST = TMPDIR=$(SCRATCH) OMP_NUM_THREADS=1 $(BIN)/pytest
export NORMBENCH_DATA_DIR ?= $(CURDIR)/.normbench
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test test-fast lint bench clean

demo: $(INSTALLED)  ## the whole path once: service, nine runs, leaderboard
	$(BIN)/normbench demo

test: $(INSTALLED)  ## the whole test suite
	$(PYTEST) --numprocesses 4 --dist loadfile --no-loadscope-reorder $(PYTEST_OPTIONS)

test-fast: $(INSTALLED)  ## what needs no processes, servers or long computations
	$(PYTEST) --numprocesses 2 --dist worksteal -m 'not slow' $(PYTEST_OPTIONS)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(INSTALLED)  ## the numbers of benchmarks/README.md, measured here
	$(BIN)/pip install --quiet -e '.[bench]'
	$(BIN)/python -m benchmarks

$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("normbench needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -e '.[dev]'
	touch $@

clean:
	rm -rf .venv .normbench build *.egg-info
