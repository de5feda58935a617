# Everything below needs only Python 3.11 or newer and make: the rest is installed into .venv.
# PYTHON=/path/to/python chooses the interpreter.

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo kernels test docs lint format fuzz sim mutants bench-match bench-spark bench-broker bench-agvents clean clean-kernels

help:  ## say what there is
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: kernels  ## twelve brokers, a cut link, a killed broker, and whether everything arrived
	$(BIN)/agvent demo

kernels: .venv/runtime.stamp  ## compile the matcher: a minute, once
	@echo "Compiling the matcher, unless it is (a minute)"
	@$(BIN)/python -m agvent.matching.prepare

# Three workers on two cores: each waits for a JVM, a broker or a disk much of its time.
test: .venv/dev.stamp  ## lint, types and every test
	@$(MAKE) --no-print-directory --jobs 2 lint kernels
	$(BIN)/pytest -n 3 --dist loadgroup --durations 12

docs: .venv/dev.stamp  ## the documentation as a site, in build/docs; a broken link or anchor ends it
	$(BIN)/python -m sphinx -b html -q -W --keep-going -d build/docs-read docs build/docs
	@echo "build/docs/index.html"

lint: .venv/dev.stamp  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/dev.stamp  ## let ruff lay out the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

fuzz: .venv/dev.stamp  ## try random inputs on every parser and decoder; INPUTS=1000000 SECONDS=3600 SEED=0
	PYTHONPATH=benchmarks $(BIN)/python -m tests.fuzz $(if $(INPUTS),--inputs $(INPUTS)) \
		$(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED))

sim: .venv/runtime.stamp  ## run 2,000 seeded worlds of brokers with faults; SEEDS=50000 FIRST=0
	$(BIN)/agvent sim --seeds $(or $(SEEDS),2000) --first-seed $(or $(FIRST),0)

mutants: .venv/dev.stamp  ## plant small bugs and hunt each with the simulator, then the tests; SEEDS=300 JOBS=2
	PYTHONPATH=benchmarks $(BIN)/python -m tests.mutants --tests $(if $(SEEDS),--seeds $(SEEDS)) \
		$(if $(JOBS),--jobs $(JOBS))

bench-match: .venv/runtime.stamp  ## the table of docs/performance.md
	$(BIN)/python benchmarks/match.py --table

bench-spark: .venv/runtime.stamp  ## the table of Spark in docs/performance.md, and a hundred million events
	$(BIN)/python benchmarks/spark_match.py --table
	$(BIN)/python benchmarks/spark_scale.py --page

bench-agvents: .venv/runtime.stamp  ## behaviour calls per second of a sandbox worker, alone and through a broker
	$(BIN)/python benchmarks/agvents.py --page

bench-broker: .venv/runtime.stamp  ## rates, latency, large events and healing of brokers as processes on this machine
	$(BIN)/python benchmarks/broker.py

clean-kernels:  ## forget compiled kernels, after a change to one that other files call
	find src benchmarks -name '*.nb[ci]' -delete

clean:  ## remove everything that was made here
	rm -rf .venv build dist demo-output .mypy_cache .ruff_cache .pytest_cache .hypothesis src/agvent.egg-info
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is as new as the lock it was installed from, so a changed lock installs again.
.venv/created.stamp:
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11 or newer on PATH"; \
		echo "hint: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; } >&2
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "error: $(PYTHON) is not Python 3.11 or newer"; \
		echo "hint: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; } >&2
	@echo "Creating .venv"
	@$(PYTHON) -m venv --clear .venv
	@touch $@

.venv/runtime.stamp: requirements.lock pyproject.toml | .venv/created.stamp
	@echo "Installing requirements.lock into .venv"
	@$(PIP) --no-deps -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/dev.stamp: requirements-dev.lock .venv/runtime.stamp
	@echo "Installing requirements-dev.lock into .venv"
	@$(PIP) --no-deps -r requirements-dev.lock
	@touch $@
