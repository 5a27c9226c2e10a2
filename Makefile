# Fairline. `make` alone lists the targets.
#   PYTHON=python3.13 make setup     another interpreter
#   make test ARGS="-k admission"    arguments for pytest, `fairline serve` or the benchmarks

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.set-up
CODE   := $(wildcard src tests bench examples)
ARGS   ?=

# Debian packages the tests use where they are there.
TEST_PACKAGES := redis-server chromium fonts-noto-core fonts-noto-cjk nginx-light caddy haproxy nodejs
# What the benchmarks over HTTP need.
BENCH_PACKAGES := wrk nginx-light

.DEFAULT_GOAL := help
.PHONY: help setup run test check bench screenshots clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## make .venv with everything in it (again only after a change of dependencies)

# The pins hold for the build backend too: pip reads the first variable for that up to 25.2, the second one after.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Fairline needs Python 3.11 or newer, and '$(PYTHON)' is not: $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Name another one, for example: make setup PYTHON=python3.12" >&2; \
	  exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 \
	  $(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

run: setup ## run the server with a small shop behind it (ARGS="--port 9000")
	$(BIN)/python -m examples.shop $(ARGS)

test: setup ## run the tests (ARGS="-k name")
	@scripts/system-packages $(TEST_PACKAGES)
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder $(ARGS)

check: setup ## formatting, lint and types
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy $(CODE)

bench: setup ## run the benchmarks (ARGS="memory scale --quick")
	@scripts/system-packages $(BENCH_PACKAGES)
	$(BIN)/python -m bench $(ARGS)

screenshots: setup ## draw the pages in all their states into docs/images (ARGS="waiting admin board")
	@scripts/system-packages $(TEST_PACKAGES)
	$(BIN)/python -m tests.browser.screenshots $(ARGS)

clean: ## remove what the other targets made
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .schemathesis
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
