# Every target sets itself up: .ci/set_up.py makes or renews .venv when pyproject.toml or
# constraints.txt changed, and returns at once otherwise.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help set-up set-up-demo demo test browser docs lint dist bench clean
.DEFAULT_GOAL := help

help:
	@echo "make demo     write reports on rendered images to demo/"
	@echo "make test     run the tests"
	@echo "make browser  install Chromium (Debian), and test the page of a report in it"
	@echo "make docs     build the documentation into docs/site/"
	@echo "make lint     check style, types and what imports what"
	@echo "make dist     build what is put on the package index into dist/, and check it"
	@echo "make bench    measure time, memory and accuracy into benchmarks/results/"
	@echo "make clean    remove the virtual environment and everything made"

set-up:
	@command -v $(PYTHON) >/dev/null || { echo "geodis needs Python 3.10 or later, and there is no $(PYTHON): install one, or name it: make PYTHON=python3.11 demo"; exit 1; }
	@$(PYTHON) .ci/set_up.py

# The demo needs neither torch nor what the tests do.
set-up-demo:
	@command -v $(PYTHON) >/dev/null || { echo "geodis needs Python 3.10 or later, and there is no $(PYTHON): install one, or name it: make PYTHON=python3.11 demo"; exit 1; }
	@$(PYTHON) .ci/set_up.py --demo

demo: set-up-demo
	@$(BIN)/geodis demo --out demo

# A process for every core, each on one thread: together they would only wait for one another. The
# first seed of every test, without the long ones: GEODIS_TESTS=all runs them all, as .ci/run does.
test: set-up
	@GEODIS_TESTS=$${GEODIS_TESTS:-quick} OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

browser: set-up
	@.ci/browser
	@$(BIN)/python -m pytest -q tests/test_browser.py

docs: set-up
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --config-file docs/mkdocs.yml
	@echo "docs/site/index.html"

lint: set-up
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@PYTHONPATH=.ci $(BIN)/lint-imports --no-logo --no-cache
	@$(BIN)/mypy
	@$(BIN)/mypy --config-file tests/typing/mypy.ini

# Without isolation: what builds is what set-up installed, and no network is needed.
dist: set-up
	@rm -rf build dist
	@$(BIN)/python -m build --quiet --no-isolation --outdir dist .
	@$(BIN)/twine check --strict dist/*
	@$(BIN)/python .ci/check_dist.py dist

bench: set-up
	@$(BIN)/python -m benchmarks

clean:
	rm -rf .venv demo docs/site docs/pages/figures docs/pages/results docs/pages/api docs/pages/notebooks build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
