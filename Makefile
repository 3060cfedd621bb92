# Each target works in a fresh clone: .venv is made on first use (tools/setup; PYTHON=... chooses the interpreter).
.DEFAULT_GOAL := help
# A test that takes ten minutes hangs: the run ends and shows where every thread stands.
BOUND = -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true
# Two processes, each with a half of the tests in their order (so fixtures of a file are made once); who is done takes over.
WORKERS = -n 2 --dist worksteal
IN_VENV := PATH="$(CURDIR)/.venv/bin:$$PATH"
CPP_FILES = $(shell find cpp sycl -name '*.cpp' -o -name '*.hpp')

.PHONY: help setup demo test test-slow witness golden check lint types layers sizes structure symbols import-time docs wheels test-pythons format asan ubsan tsan sycl-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: ## make .venv with all extras
	@tools/setup demo dev

demo: ## classify handwritten digits on encrypted pictures
	@tools/setup demo
	@$(IN_VENV) python examples/digits.py

test: ## all tests but the slow ones
	@tools/setup dev
	@$(IN_VENV) python -m pytest -m "not slow" $(WORKERS) $(BOUND)

test-slow: ## the slow tests
	@tools/setup dev
	@$(IN_VENV) python -m pytest -m slow $(BOUND)

witness: ## pin plans and ciphertexts anew, where a change means to change them
	@tools/setup dev
	@$(IN_VENV) python tests/witness --write

golden: ## write the golden texts anew, where what comes out of passes is meant to change
	@tools/setup dev
	@$(IN_VENV) python tests/golden

test-pythons: ## a wheel and a fast part of the tests for every supported Python that is here
	@tools/setup dev
	@$(IN_VENV) python tools/test_pythons.py

check: lint types layers sizes structure symbols import-time test ## everything that has to hold before a change goes in

lint: ## ruff and clang-format, nothing written
	@tools/setup dev
	$(IN_VENV) ruff check .
	$(IN_VENV) ruff format --check .
	@$(IN_VENV) clang-format --dry-run -Werror $(CPP_FILES)

types: ## mypy, strict
	@tools/setup dev
	$(IN_VENV) mypy
	$(IN_VENV) mypy tools

layers: ## dependency rules and cycles
	@tools/setup dev
	$(IN_VENV) python tools/check_layers.py

sizes: ## file and function sizes, duplication, docstrings and annotations
	@tools/setup dev
	$(IN_VENV) python tools/check_sizes.py

structure: ## folders, upward imports, names, docstrings, parameters, files that name one thing, words of pages
	@tools/setup dev
	$(IN_VENV) python tools/check_structure.py

symbols: ## nothing of an instruction-set-specific file can replace generic code
	@tools/setup dev
	$(IN_VENV) python tools/check_symbols.py

import-time: ## the import is quick and takes no optional package along
	@tools/setup dev
	$(IN_VENV) python tools/check_import_time.py

wheels: ## the source distribution and wheels for Linux, checked, in dist/ (half an hour of processor time)
	@python3 tools/wheels

docs: ## the guides and a reference made from docstrings, as HTML in build/docs
	@tools/setup docs
	@$(IN_VENV) python tools/docs/build.py

format: ## rewrite the sources in the house format
	@tools/setup dev
	$(IN_VENV) ruff check --fix-only --quiet .
	$(IN_VENV) ruff format .
	@$(IN_VENV) clang-format -i $(CPP_FILES)

asan: ## the tests with addresses checked (memory errors)
	@tools/setup dev
	@tools/sanitize address

ubsan: ## the tests with undefined behaviour checked
	@tools/setup dev
	@tools/sanitize undefined

tsan: ## the tests with data races checked
	@tools/setup dev
	@tools/sanitize thread

sycl-check: ## the driver of SYCL on Intel's processor device, against the host (2 GB of packages)
	@sycl/check

clean: ## remove what was built, and .venv
	rm -rf .venv build dist demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
