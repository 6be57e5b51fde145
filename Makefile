# The two commands of the README are `make demo` and `make test`; both work on a fresh machine with
# Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check lint lock schemas bench clean
.DEFAULT_GOAL := test

# pip from the environment itself; every file is checked against its hash.
$(STAMP): requirements/dev.txt pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

demo: $(STAMP) ## stream made-up clinic visits through the service and audit what came out
	@$(BIN)/stream-anon demo

test: $(STAMP) ## all tests; those that need Java and Maven skip with a reason where these are absent
	$(BIN)/python -m pytest

check: $(STAMP) ## the fast part: no broker, no slow tests
	$(BIN)/python -m pytest -m "not kafka and not tansu and not slow"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

lock: ## write requirements/*.txt anew from pyproject.toml (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header pyproject.toml --extra demo -o requirements/runtime.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header pyproject.toml --extra demo --extra dev -o requirements/dev.txt

bench: $(STAMP)
	$(BIN)/python benchmarks/path.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
