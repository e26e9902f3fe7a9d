# Every target does the set-up it needs. PYTHON=... chooses an interpreter; UV= (empty) sets up with venv and pip although uv is there.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
SET_UP_FROM := pyproject.toml constraints.txt setup.py $(wildcard tools/*.sh tools/build_backend.py tools/c_compiler.py) \
	$(wildcard src/tilewise/emu/runtime/*.c src/tilewise/emu/runtime/*.h)
C_AND_CUDA = $(shell find src tests -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh')
UV ?= $(shell command -v uv 2>/dev/null)
export UV PYTHON

.PHONY: help setup demo test test-all gpu gpu-rows check mutants fuzz bench-emulator bench-check picture lock clean
.DELETE_ON_ERROR:

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(STAMP) ## make .venv with everything pinned, and build the C runtime

$(STAMP): $(SET_UP_FROM)
	@sh tools/set_up.sh $(VENV)
	@touch $@

demo: $(STAMP) ## climb the ladder at 512^3 on this machine's CPU
	@$(BIN)/tilewise ladder 512

test: $(STAMP) ## run the tests, but for the slowest
	$(BIN)/pytest -n auto -m "not slow"

test-all: $(STAMP) ## run all tests
	$(BIN)/pytest -n auto

gpu: $(STAMP) ## run the tests that need an NVIDIA GPU
	$(BIN)/pytest -m gpu

gpu-rows: $(STAMP) ## run every row of the opcode table as tiny kernels on an NVIDIA GPU
	$(BIN)/pytest -m gpu tests/isa

check: $(STAMP) ## format, lint, types, layers, C sanitizers, and a wheel in an empty environment
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror $(C_AND_CUDA)
	$(BIN)/python tools/check_runtime.py
	$(BIN)/python tools/check_wheel.py

mutants: $(STAMP) ## let every barrier, wait, guard, tile index and stage count of the ladder go wrong once: check must see it
	$(BIN)/python tools/mutants.py

fuzz: $(STAMP) ## feed launch facts, expectations and PTX that are almost right to check, for an hour
	$(BIN)/python tools/fuzz.py

bench-emulator: $(STAMP) ## time the emulator against NumPy on one thread
	$(BIN)/python benchmarks/bench_emulator.py

bench-check: $(STAMP) ## time the check against Oclgrind and against plain emulation
	$(BIN)/python benchmarks/bench_check.py

picture: $(STAMP) ## draw the README's pictures anew
	@$(BIN)/python tools/draw_readme_picture.py

lock: ## renew constraints.txt from pyproject.toml (needs uv)
	@sh tools/lock.sh

clean: ## remove what the other targets made
	rm -rf $(VENV) build dist src/tilewise.egg-info src/tilewise/emu/runtime/*.so
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find src tests tools benchmarks -name __pycache__ -prune -exec rm -rf {} +
