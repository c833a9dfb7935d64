#!/usr/bin/env bash
# tools/sanitize.sh [JOBS [PRESET...]]: builds the rooms below the torch line with sanitizers and runs
# their tests. LibTorch itself is not built with sanitizers, so the rooms above are left out.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
jobs=${1:-$(nproc)}
shift || true
[ $# -gt 0 ] || set -- asan-ubsan tsan

export ASAN_OPTIONS="detect_stack_use_after_return=1:strict_string_checks=1:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}"
export TSAN_OPTIONS="halt_on_error=1:suppressions=$PWD/tools/tsan.supp:${TSAN_OPTIONS:-}"
failed=0
for preset in "$@"; do
  tools/build.sh "$preset" "$jobs" && /usr/bin/python3 tools/run_tests.py "build/$preset" --no-python ||
    failed=1
done
exit $failed
