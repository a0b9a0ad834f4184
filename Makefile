PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

build: $(VENV)/installed  ## a virtual environment with tb_planner and its compiled kernel
	@$(BIN)/python setup.py -q build_ext --inplace

test: lint  ## everything CI runs: lint, types, tests
	$(BIN)/pytest

lint: build  ## style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/installed  ## put the code into shape
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:  ## remove all that was made here
	rm -rf $(VENV) build install log *.egg-info .*_cache .hypothesis tb_planner/*.so tb_planner/*.c
	find . -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/pip:
	$(PYTHON) -m venv $(VENV) || { echo 'No virtual environment: sudo apt install python3-venv'; exit 1; }

$(VENV)/installed: setup.py pyproject.toml | $(BIN)/pip
	@command -v $${CC:-cc} > /dev/null || \
		{ echo 'No C compiler for the kernel: sudo apt install build-essential python3-dev'; exit 1; }
	$(BIN)/pip install --quiet --use-pep517 --editable '.[test]'
	@touch $@

.PHONY: help build test lint format clean
