# The two commands of the README are `make demo` and `make test`; both work on a fresh machine with
# Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

# Modules that every process compiles anew cost a worker of the tests five seconds at its start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test soak everything fuzz check lint format docs lock schemas wheel apiserver bench mutants clean
.DEFAULT_GOAL := test

# Every package is checked against its hash. The demo needs less than the tests. The pip that comes with Python may be too
# old: before 23.3 it takes the newest version of what a package wants with an extra, as coverage[toml], and not the locked.
$(VENV)/.runtime: requirements/pip.txt requirements/runtime.txt pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) ..."
	@$(PIP) --require-hashes -r requirements/pip.txt
	@$(PIP) --require-hashes -r requirements/runtime.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

# pyspark comes as source: it is built by the setuptools that is installed already, which was checked too.
$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime
	@echo "Installing what the tests need ..."
	@$(PIP) --require-hashes --no-build-isolation -r requirements/dev.txt
	@touch $@

demo: $(VENV)/.runtime ## stream made-up clinic visits through the service and audit what came out
	@$(BIN)/stream-anon demo

# What needs no broker computes, in two processes. The rest waits more than it computes, and needs three; what is longest
# measures speed, and has two. All in the order of tests/support/order.py. `make test` tries laws on a third of their
# examples, `make soak` on all of them. `make everything` runs each test once.
BARE := not kafka and not tansu and not containers and not slow and not soak
FAST := -m pytest -n 2 -m "$(BARE)"
WIRED := (kafka or tansu or containers or slow) and not soak
REST := -m pytest -n 3 -m "$(WIRED)"
SOAK := -m pytest -n 2 -m "soak or hypothesis"

test: $(VENV)/.dev ## all tests but `make soak`; those that need Java and Maven skip with a reason where these are absent
	$(BIN)/python $(FAST)
	$(BIN)/python $(REST)

soak: $(VENV)/.dev ## what takes minutes: laws on all examples, long storms, floods and delays, Spark, Debezium, the image
	$(BIN)/python $(SOAK)

everything: $(VENV)/.dev ## what `make test` and `make soak` run, and no law twice
	$(BIN)/python -m pytest -n 2 -m "$(BARE) and not hypothesis"
	$(BIN)/python -m pytest -n 3 -m "$(WIRED) and not hypothesis"
	$(BIN)/python $(SOAK)

FUZZ_SECONDS ?= 3600
fuzz: $(VENV)/.dev ## made-up records that are wrong in many ways, for an hour: CONTRIBUTING.md says what to do with a finding
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

check: $(VENV)/.dev ## the fast part: no broker, no slow tests
	$(BIN)/python $(FAST)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The versions are those of requirements/dev.txt where both have a package.
$(VENV)/.docs: requirements/docs.txt $(VENV)/.runtime
	@echo "Installing what builds the site ..."
	@$(PIP) --require-hashes -r requirements/docs.txt
	@touch $@

docs: $(VENV)/.docs ## the site in build/site from docs/: a broken link or a page that its index lacks is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "The site is in build/site, its first page is build/site/index.html"

lock: ## write requirements/*.txt anew from pyproject.toml (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header requirements/pip.in -o requirements/pip.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header pyproject.toml --extra demo --extra build --extra protobuf --extra sign -o requirements/runtime.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header pyproject.toml --extra demo --extra build --extra protobuf --extra sign --extra benchmarks --extra dev -o requirements/dev.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header pyproject.toml --extra protobuf --extra sign -c requirements/runtime.txt -o requirements/service.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header pyproject.toml --extra protobuf --extra sign --extra msk -c requirements/service.txt -c requirements/dev.txt -o requirements/msk.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header requirements/image.in -c requirements/runtime.txt -o requirements/image.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header requirements/docs.in -c requirements/dev.txt -o requirements/docs.txt

schemas: $(VENV)/.dev ## write schemas/settings.schema.json, the pages of settings and log lines, and the chart's copies anew from the code
	$(BIN)/python -m stream_anon.settings.json_schema schemas/settings.schema.json
	$(BIN)/python -m stream_anon.settings.settings_page docs/reference/settings.md
	$(BIN)/python -m stream_anon.operations.log_lines docs/reference/logs.md
	$(BIN)/python deploy/chart.py

# Of the same processor as the kernels of the image. The folder is named after the sources, so nothing of it is stale.
KERNELS := build/kernels
wheel: $(VENV)/.dev ## a wheel for this platform that brings compiled kernels: its first command starts at once
	@echo "Compiling the kernels of every kind of policy, some minutes ..."
	@rm -rf $(KERNELS) && mkdir -p $(KERNELS)
	@NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=$(KERNELS) $(BIN)/python deploy/image/compile_kernels.py
	@echo generic > $(KERNELS)/processor
	STREAM_ANON_KERNELS=$(KERNELS) $(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

TOOLS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/stream-anon/bin
KUBERNETES = $(shell cd tests/support/apiserver && go list -m -f '{{.Version}}' k8s.io/kubernetes)
apiserver: ## etcd and kube-apiserver for tests of the chart, from Go modules; some minutes
	cd tests/support/apiserver && go build -trimpath -ldflags "-s -w" -o $(TOOLS)/etcd go.etcd.io/etcd/server/v3
	cd tests/support/apiserver && go build -trimpath \
		-ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$(KUBERNETES)" \
		-o $(TOOLS)/kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver

bench: $(VENV)/.dev ## four of the benchmarks in docs/project/benchmarks.md; half an hour
	$(BIN)/python benchmarks/path.py
	$(BIN)/python benchmarks/engines.py
	$(BIN)/python benchmarks/optimum.py
	$(BIN)/python benchmarks/growth.py

mutants: $(VENV)/.dev ## change the code that protects people, one thing at a time, and see whether a test notices; hours
	$(BIN)/python -m tools.mutation

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
