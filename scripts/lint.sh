#!/bin/sh
# Every static check of the Python code; runs them all, fails when one fails.
status=0
run() {
    echo "$ $*"
    "$@" || status=1
}
run ruff check .
run ruff format --check .
run mypy
run stubtest --concise dnnmove._core
exit $status
