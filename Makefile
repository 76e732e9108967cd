PYTHON ?= python3
BIN = .venv/bin
INSTALLED = .venv/.installed
# Tests sync thousands of files to the disk, for nothing: they are kept in memory where there is plenty of it.
SCRATCH := $(shell df -k --output=avail /dev/shm 2>/dev/null | awk 'END {exit $$1 < 4000000}' && echo /dev/shm || echo $${TMPDIR:-/tmp})
# Each test process has one thread, as they are more than the cores.
PYTEST = TMPDIR=$(SCRATCH) OMP_NUM_THREADS=1 $(BIN)/pytest
export NORMBENCH_DATA_DIR ?= $(CURDIR)/.normbench
export PYTHONDONTWRITEBYTECODE =

.PHONY: help demo test fast lint format guide bench clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(INSTALLED)  ## the whole path once: service, 15 runs, leaderboard
	$(BIN)/normbench demo

test: $(INSTALLED)  ## the whole test suite
	$(PYTEST) --numprocesses 4 --dist loadfile --no-loadscope-reorder $(PYTEST_OPTIONS)

fast: $(INSTALLED)  ## a third of the tests in a minute: no processes, no servers
	$(PYTEST) --numprocesses 2 --dist worksteal -m 'not slow' $(PYTEST_OPTIONS)

lint: $(INSTALLED)  ## style, types and words, changing nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tools.words

format: $(INSTALLED)  ## ruff puts in order what it can
	$(BIN)/ruff check --fix --exit-zero --quiet .
	$(BIN)/ruff format .

# Without --quiet, which drops the warnings before they are counted.
guide: $(INSTALLED)  ## the documents as a site, which the service shows at /guide
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench: $(INSTALLED)  ## the numbers of benchmarks/README.md, measured here
	$(BIN)/pip install --quiet -e '.[bench]'
	$(BIN)/python -m benchmarks

$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("normbench needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	@echo 'Installing normbench and torch into .venv. This takes 1 to 10 minutes, and pip prints nothing.'
	$(BIN)/pip install --quiet -e '.[dev]'
	touch $@

clean:  ## remove environment, data directory and what was built
	rm -rf .venv .normbench build *.egg-info service/pages/built_guide
