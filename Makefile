# Thin wrappers: CMake presets build, the scripts of tools/ do the rest.

.DEFAULT_GOAL := help
.PHONY: help setup build demo test parity sanitize fuzz format lint clean

# One job a core; a file that includes LibTorch takes 1.5 GB.
JOBS ?= $(shell nproc)
PYTHON := /usr/bin/python3
# What the tests' names or folders must match: make test ONLY='io|ops'
ONLY ?=
# How long each fuzz target runs.
FUZZ_SECONDS ?= 60

help:
	@echo 'make build     set up what is missing and build build/release/cantilever'
	@echo 'make demo      make a small set, train on it, show what was learned'
	@echo 'make test      every test that needs nothing but the build'
	@echo 'make parity    the same work in Transformers, number by number (3 GB of Python packages)'
	@echo 'make sanitize  the rooms below the torch line under ASan, UBSan and TSan'
	@echo 'make fuzz      hostile files for the rooms that read them, a minute a target (clang)'
	@echo 'make format    clang-format;  make lint  the rules of the house'
	@echo 'make setup     Debian packages and .deps/ only;  make clean  removes build/'

setup:
	@tools/setup/setup.sh

build: setup
	@tools/build.sh release $(JOBS)

demo: build
	@tools/demo/demo.sh

test: build
	@$(PYTHON) tools/run_tests.py build/release --only '$(ONLY)'

parity: build
	@tools/setup/python_reference.sh
	@tools/parity/run.sh build/release

sanitize: setup
	@tools/sanitize.sh $(JOBS)

fuzz:
	@tools/setup/setup.sh fuzz
	@tools/fuzz.sh $(FUZZ_SECONDS) '$(ONLY)' $(JOBS)

format:
	@tools/setup/setup.sh lint
	@tools/lint/format.sh write

lint:
	@tools/setup/setup.sh lint
	@tools/lint/format.sh check
	@$(PYTHON) tools/lint/lint.py

clean:
	rm -rf build
