# make demo: environment + a sentence becomes a character that moves.  make test: environment + lint, types, tests.  make bench: measurements.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint bench clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/akd animate "a brown dog walking" --loop --out runs/demo --force

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy

test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

bench: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt 'newton>=1.7' # only to be compared with
	$(BIN)/python -m bench rasterize film physics # the quick ones; studies are run by name, see docs/

clean:
	rm -rf $(VENV) runs
