# `make` alone lists the targets. Everything is installed into .venv; nothing is written outside this folder.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?=
BENCH_ARGS ?=
WORKERS ?= auto
SEQUENCES ?= 10000
EXAMPLES ?= 100
MINUTES ?= 60
CAMPAIGN_ARGS ?=

export PIP_CACHE_DIR := $(CURDIR)/.cache/pip
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export PYTHONNOUSERSITE := 1
# pip asks rustc for its version, and a rustc that rustup manages would write into the home directory.
export RUSTUP_HOME := $(CURDIR)/.cache/rustup
export CARGO_HOME := $(CURDIR)/.cache/cargo
export PYTEST_DEBUG_TEMPROOT := $(CURDIR)/.cache/tests
PIP_INSTALL := $(BIN)/python -m pip install --quiet --require-virtualenv

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z_-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-14s %s\n", $$1, $$2 }'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Preauth needs Python 3.11 or later")'
	@echo "creating $(VENV)" >&2
	@$(PYTHON) -m venv $(VENV)

# Stamps: reinstall only when what is pinned has changed.
$(VENV)/run.stamp: requirements/run.txt pyproject.toml | $(BIN)/python
	@echo "installing what the service needs" >&2
	@$(PIP_INSTALL) --require-hashes -r requirements/run.txt
	@$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.stamp: requirements/dev.txt $(VENV)/run.stamp
	@echo "installing what the tests and linters need" >&2
	@$(PIP_INSTALL) --require-hashes -r requirements/dev.txt
	@touch $@

# Node.js itself is one of the tests' Python packages, so that no machine lacks it.
$(VENV)/node.stamp: tests/postgrest/package-lock.json $(VENV)/dev.stamp
	@echo "installing the tests' JavaScript" >&2
	@$(BIN)/python -m tests.support.node
	@touch $@

.PHONY: install install-dev
install: $(VENV)/run.stamp ## install into .venv
install-dev: $(VENV)/dev.stamp ## install with the tests' and linters' tools

.PHONY: run
run: install ## start PostgreSQL and the service on 127.0.0.1:8080
	@exec $(BIN)/preauth dev

.PHONY: test
test: install-dev $(VENV)/node.stamp ## run the tests
	@mkdir -p $(PYTEST_DEBUG_TEMPROOT)
	@$(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 $(PYTEST_ARGS)

.PHONY: nightly
nightly: install-dev ## the models with 10000 random sequences instead of a few hundred (SEQUENCES=n), the fuzz with more (EXAMPLES=n)
	@mkdir -p $(PYTEST_DEBUG_TEMPROOT)
	@PREAUTH_TEST_SEQUENCES=$(SEQUENCES) PREAUTH_TEST_EXAMPLES=$(EXAMPLES) \
	  $(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 $(PYTEST_ARGS) tests/properties tests/fuzz tests/sql/windows

.PHONY: mutants
mutants: install-dev ## break sql/ on purpose, change by change: the tests must notice each (docs/mutants.md)
	@mkdir -p $(PYTEST_DEBUG_TEMPROOT)
	@$(BIN)/python -m tests.mutants

.PHONY: mutmut
mutmut: install-dev ## the same for the ledger's way through service/, its loops and parsers
	@mkdir -p $(PYTEST_DEBUG_TEMPROOT)
	@$(BIN)/python -m tests.mutants.service

.PHONY: coverage
coverage: install-dev ## branch coverage of service/
	@mkdir -p $(PYTEST_DEBUG_TEMPROOT)
	@rm -f .coverage .coverage.*
	@$(BIN)/python -m coverage run -m pytest -q tests/api tests/e2e/test_dev.py tests/jobs tests/ledger tests/pricing tests/service
	@$(BIN)/python -m coverage combine --quiet
	@$(BIN)/python -m coverage report

DEBIAN_BIN ?= /usr/lib/postgresql/15/bin
.PHONY: coverage-sql
coverage-sql: install-dev ## statements and branches of the plpgsql functions; needs Debian's PostgreSQL with plpgsql_check
	@mkdir -p $(PYTEST_DEBUG_TEMPROOT)
	@PREAUTH_TEST_PG_BIN=$(DEBIAN_BIN) $(BIN)/python -m tests.support.profile -n $(WORKERS) --maxprocesses 8

.PHONY: campaign
campaign: install-dev ## kills, cuts and full load, every answer checked: make campaign [MINUTES=60] [CAMPAIGN_ARGS="--seed 2"]
	@$(BIN)/python -m tests.e2e.campaign --minutes $(MINUTES) $(CAMPAIGN_ARGS)

.PHONY: lint
lint: install-dev ## ruff, mypy, import boundaries
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

.PHONY: format
format: install-dev ## let ruff format and fix
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

.PHONY: migrate
migrate: install ## bring the database of PREAUTH_DATABASE_URL (or the embedded one) to head
	@$(BIN)/preauth migrate

.PHONY: migration
migration: install ## freeze what changed in sql/ as a revision: make migration m="what it does"
	@$(BIN)/python -m service.freeze $(if $(ddl),--ddl "$(ddl)") $(if $(redo),--redo) "$(m)"

.PHONY: bundle
bundle: install ## write sql/bundle.sql
	@$(BIN)/python -m service.schema.bundle

.PHONY: bench
bench: install-dev ## run the benchmarks: make bench [BENCH_ARGS="--rounds 1 --seconds 2"]
	@$(BIN)/python -m bench $(BENCH_ARGS)

.PHONY: check
check: lint test ## everything that must pass

.PHONY: requirements
requirements: install-dev ## compile requirements/*.txt from *.in
	@cd requirements && for f in run dev; do \
	  UV_CACHE_DIR=../.cache/uv ../$(BIN)/uv pip compile --universal --generate-hashes --no-header --no-annotate \
	    --python-version 3.11 --quiet $$f.in -o $$f.txt; done

.PHONY: clean
clean: ## remove what was installed and cached (never the data in .preauth)
	@rm -rf $(VENV) tests/postgrest/node_modules .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
