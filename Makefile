# `make demo` and `make test` set everything up by themselves; nothing is installed outside .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
AS_ROOT = $(shell test "$$(id -u)" = 0 || echo sudo)

.PHONY: demo test browser clean

demo: $(STAMP)
	$(BIN)/stillome demo --out stillome-demo --overwrite

test: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist worksteal

# Debian's Chromium and its driver, for the tests of the report; nothing is done where they are.
browser:
	{ command -v chromium && command -v chromedriver; } >/dev/null \
	  || { $(AS_ROOT) apt-get update -qq && $(AS_ROOT) apt-get install -y -qq chromium chromium-driver; }

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[combat,cluster,zarr,dev]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) stillome-demo stillome-demo-input
