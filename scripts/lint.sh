#!/bin/sh
# Every static check of the Python code, and the format of the C++ code; runs them all, fails when one fails.
status=0
run() {
    echo "$ $*"
    "$@" || status=1
}
run ruff check .
run ruff format --check .
echo '$ clang-format --dry-run -Werror (all C++)'
find src bindings tests/cpp benchmarks \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' \) -exec clang-format --dry-run -Werror {} + || status=1
run mypy
run stubtest --concise dnnmove._core
exit $status
