# `make demo` and `make test` set everything up by themselves; nothing is installed outside .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo test clean

demo: $(STAMP)
	$(BIN)/stillome demo --out stillome-demo --overwrite

test: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[combat,cluster,zarr,dev]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) stillome-demo
