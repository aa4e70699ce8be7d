# Every install goes through constraints.txt. Override with, say: make test PYTHON=python3.12 VENV=/tmp/venv
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-dist browser-test lint types docs screenshots bench clean

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s  %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.installed-demo  ## train GECO and baselines on two small data sets and print the scores, about two minutes
	$(BIN)/python examples/demo.py

test: $(VENV)/.installed-test  ## run the tests, without those marked slow, real or dist
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

test-dist: $(VENV)/.installed-test  ## run the tests of several processes, which take turns
	OMP_NUM_THREADS=1 TORCH_DISTRIBUTED_DEBUG=DETAIL $(BIN)/python -m pytest -m dist

browser-test: $(VENV)/.installed-test tests/browser/node_modules  ## test pages in Chromium; needs chromium, node and npm
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m slow tests/browser

tests/browser/node_modules: tests/browser/package.json
	cd tests/browser && npm install --no-audit --no-fund --no-package-lock --ignore-scripts
	@touch $@

lint: $(VENV)/.installed-dev  ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev  ## check types
	$(BIN)/mypy

docs: $(VENV)/.installed-docs  ## build the documentation into site/, without network, warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

screenshots: docs  ## take the pictures of docs/images again, with the Chromium that is installed
	$(BIN)/python docs/_site/screenshots.py

bench: $(VENV)/.installed-demo  ## time and weigh a training step against the plain composition
	$(BIN)/python -m geco.studies.step

clean:  ## remove caches and build output (the virtual environment stays)
	rm -rf build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-%: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".[$*]"
	@touch $@
