#!/bin/sh
# Runs the checks one after another and stops at the first that fails, with its name.
#   sh packaging/check.sh lint            the checks that run nothing of gpuplanner
#   sh packaging/check.sh test [ARG…]     the same, then pytest with the arguments
set -eu
cd "$(dirname "$0")/.."

# No screen is needed, and nobody's settings count.
export QT_QPA_PLATFORM="${QT_QPA_PLATFORM:-offscreen}"

step() {
    name=$1
    shift
    printf '\n== %s\n' "$name"
    ".venv/bin/$@" || {
        printf 'gpuplanner: stopped at: %s\n' "$name" >&2
        exit 1
    }
}

purpose=${1:?lint or test}
shift

step "format (make format mends it)" ruff format --quiet --check .
step "lint" ruff check --quiet .
step "types" mypy
step "imports" lint-imports --no-logo
[ "$purpose" = lint ] && exit 0
if [ $# -gt 0 ]; then
    step "tests" pytest "$@"
    exit 0
fi
# Two processes, as CI has two cores; what measures speed or stalls has the machine to itself afterwards.
step "tests" pytest --numprocesses=2 --dist=worksteal --ignore=tests/benchmarks -m "not alone"
step "benchmarks" pytest tests/benchmarks
step "stalls" pytest -m alone --ignore=tests/benchmarks
