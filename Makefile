# Everything runs inside .venv, which is made from requirements.txt by Python 3.11 alone.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PORT ?= 8501

.PHONY: setup run test test-slow check format bench bench-flagship bench-tables bench-embeddings bench-slicing bench-plan clean

setup: .venv/ready

.venv/ready: requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

run: setup  ## the application, with the sample table ready
	$(BIN)/synth app --port $(PORT)

test: setup  ## the whole suite
	$(BIN)/python -m pytest -n 2 --dist loadgroup

test-slow: setup  ## heavy statistics
	$(BIN)/python -m pytest -m slow

check: setup  ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: bench-flagship bench-tables bench-embeddings bench-slicing bench-plan  ## every figure of the docs; an hour on two cores

bench-flagship: setup  ## docs/benchmarks.md; needs the public tables beside the checkout
	$(BIN)/python benchmarks/flagship.py

bench-tables: setup  ## docs/tables.md; needs the public tables beside the checkout
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/flagship.py --tables diabetes,nist,credit,acs5yr --epsilons 1 --json benchmarks/results/hard.json
	$(BIN)/python benchmarks/flagship.py --tables diabetes --epsilons 5.1 --method mixture --json benchmarks/results/wide.json

bench-embeddings: setup  ## docs/generators/dp_*.md, pearl.md; needs the public tables
	$(BIN)/python benchmarks/embeddings.py

bench-slicing: setup  ## docs/generators/slicing.md; needs the public tables
	$(BIN)/python benchmarks/slices_accounting.py
	$(BIN)/python benchmarks/table1.py
	$(BIN)/python benchmarks/table1.py --steps

bench-plan: setup  ## how far forecasts of time and memory are off
	$(BIN)/python benchmarks/forecast.py

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache *.egg-info
