# Everything runs inside .venv, which is made from requirements.txt by Python 3.11 alone.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PORT ?= 8501

.PHONY: setup run test test-slow check format bench clean

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

bench: setup  ## the figures of docs/benchmarks.md, where the public tables are present
	$(BIN)/python benchmarks/flagship.py

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache *.egg-info
