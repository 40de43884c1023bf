# make demo: environment + a sentence becomes a character that moves.  make experiments: quick measurements.
# make quick: lint, types, import contracts and the tests of a minute.  make test: all tests but the slow ones.  make test-full: all.
# make wheel: build it, install it into an empty environment, do the main job there (part of make test-full).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo quick test test-full wheel lint docs experiments bench clean

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
	$(BIN)/lint-imports --no-cache

quick: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -m 'not slow and not long'

test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

test-full: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -m ''
	OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz_commands.py --cases 2000

wheel: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/pytest -m slow tests/test_install.py

docs: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	$(BIN)/mkdocs build --strict # links and anchors are checked; the site is in site/

bench: experiments

experiments: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt 'newton>=1.7' # only to be compared with
	$(BIN)/python -m experiments rasterize film physics # the quick ones; without names it lists all

clean:
	rm -rf $(VENV) runs
