# `make demo` and `make test` set everything up by themselves; nothing is installed outside .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BARE   := $(VENV)/.bare
FULL   := $(VENV)/.full
PIP     = $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt
AS_ROOT = $(shell test "$$(id -u)" = 0 || echo sudo)

.PHONY: demo test docs links smoke browser verified newest versions licences wheel clean

demo: $(BARE)
	$(BIN)/stillome demo --out stillome-demo --overwrite

test: $(FULL)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist worksteal

# The documentation site, into build/site; its tutorials run. Every warning is an error.
docs: $(FULL)
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -q -W --keep-going -b html -c docs . build/site
	@echo "Open build/site/index.html"

# Links to other sites, which needs a network; links inside are checked by `make docs`.
links: $(FULL)
	$(BIN)/python -m sphinx -q -b linkcheck -c docs -D plot_gallery=0 . build/links

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
newest: $(FULL)
	$(BIN)/nox -s newest

# The tests with every Python that is there, and with the oldest packages that pyproject.toml allows.
versions: $(FULL)
	$(BIN)/nox

licences: $(FULL)
	$(BIN)/python .ci/dependencies.py licences

# Wheel and source distribution, and beside them what they need, with licences (CycloneDX).
wheel: $(FULL)
	$(BIN)/python -m hatchling build -d dist
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
	@echo "Installing every extra and the tools of tests and docs into $(VENV): about 2 GB with the CPU"
	@echo "build of torch. Where pip finds only the CUDA build it is over 6 GB; docs/install.md"
	@echo "says how to have the CPU build instead."
	$(PIP) -e ".[all,dev,docs]"
	@touch $(BARE) $(FULL)

clean:
	rm -rf $(VENV) $(VENV)-verified .nox build dist docs/api docs/tutorials
	rm -rf stillome-demo stillome-demo-input
