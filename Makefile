# `make demo` and `make test` set everything up by themselves; nothing is installed outside .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BARE   := $(VENV)/.bare
FULL   := $(VENV)/.full
PIP     = $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt
AS_ROOT = $(shell test "$$(id -u)" = 0 || echo sudo)

.PHONY: demo test smoke browser verified newest licences wheel clean

demo: $(BARE)
	$(BIN)/stillome demo --out stillome-demo --overwrite

test: $(FULL)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist worksteal

# The wheel, as users install it: in an empty environment, outside the source tree.
smoke:
	PYTHON="$(PYTHON)" .ci/smoke

# The pinned packages, each file compared with its hash in requirements.lock; nothing is built by
# a backend that is not in it. torch is the build of the index, with CUDA on Linux.
verified:
	$(PYTHON) -m venv $(VENV)-verified
	$(VENV)-verified/bin/python -m pip install --require-hashes -r requirements.lock
	$(VENV)-verified/bin/python -m pip install --no-deps --no-build-isolation -e .

# The tests with the newest versions of everything.
newest:
	$(PYTHON) -m venv $(VENV)-newest
	$(VENV)-newest/bin/python -m pip install -e ".[all,dev]"
	$(VENV)-newest/bin/pytest -n 2 --dist worksteal

licences: $(FULL)
	$(BIN)/python .ci/dependencies.py licences

# The wheel, and beside it what it needs, with versions and licences (CycloneDX).
wheel: $(FULL)
	$(BIN)/python -m pip wheel --no-deps --wheel-dir dist .
	$(BIN)/python .ci/dependencies.py sbom dist/stillome.cdx.json

# Debian's Chromium and its driver, for the tests of the report; nothing is done where they are.
browser:
	{ command -v chromium && command -v chromedriver; } >/dev/null \
	  || { $(AS_ROOT) apt-get update -qq && $(AS_ROOT) apt-get install -y -qq chromium chromium-driver; }

$(BIN)/python:
	@echo "Making a Python environment in $(VENV)"
	$(PYTHON) -m venv $(VENV)

# pip is not told to be quiet: its progress shows that something happens.
$(BARE): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing stillome and what it needs into $(VENV): about 550 MB, a minute or two"
	$(PIP) -e .
	@touch $(BARE)

$(FULL): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing every extra and the tools of the tests into $(VENV): about 2 GB with the CPU"
	@echo "build of torch. Where pip finds only the CUDA build it is over 6 GB; docs/install.md"
	@echo "says how to have the CPU build instead."
	$(PIP) -e ".[all,dev]"
	@touch $(BARE) $(FULL)

clean:
	rm -rf $(VENV) $(VENV)-verified $(VENV)-newest dist stillome-demo stillome-demo-input
