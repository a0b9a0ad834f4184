PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

ifndef AMENT_PREFIX_PATH  # where ROS 2 is sourced it is used as it is; elsewhere it comes from PyPI
ROS := ros,
INTERFACES := interfaces,
endif

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

build: $(VENV)/installed  ## a virtual environment with tb_planner and its compiled kernel
	@$(BIN)/python setup.py -q build_ext --inplace

demo: $(VENV)/runnable  ## a robot drives through a changing office, simulator and planner on ROS 2; VIEW=1 shows it in a browser
	@$(BIN)/python setup.py -q build_ext --inplace
	@$(BIN)/python -m tb_planner demo $(if $(VIEW),--view) $(DEMO)

test: lint $(VENV)/interfaces  ## everything CI runs: lint, types, tests
	$(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist loadfile --max-worker-restart 0

lint: build  ## style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/installed  ## put the code into shape
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:  ## remove what was built and installed here; results stay
	rm -rf $(VENV) build install log *.egg-info .*_cache .hypothesis demo.png demo.tbrun demo.html
	find tb_planner benchmarks -name '*.so' -delete -o -name '*.c' -delete
	find . -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/pip:
	$(PYTHON) -m venv $(VENV) || { echo 'No virtual environment: sudo apt install python3-venv'; exit 1; }

# what the demo needs; and that with all that tests need
$(VENV)/runnable: EXTRAS := $(ROS)build,plot
$(VENV)/installed: EXTRAS := $(ROS)$(INTERFACES)test
$(VENV)/runnable $(VENV)/installed: setup.py pyproject.toml | $(BIN)/pip
	@command -v $${CC:-cc} > /dev/null || \
		{ echo 'No C compiler for the kernel: sudo apt install build-essential python3-dev'; exit 1; }
	@echo 'Installing tb_planner[$(EXTRAS)] into $(VENV); for the first time this takes a minute or more'
	@$(BIN)/pip install --quiet --use-pep517 --editable '.[$(EXTRAS)]'
	@touch $@ $(VENV)/runnable

# messages that are on no package registry, for tests
$(VENV)/interfaces: test/build_interfaces.py $(wildcard test/interfaces/*/*/*) $(VENV)/installed
	@$(BIN)/python $<
	@touch $@

.PHONY: help build demo test lint format clean
