#!/usr/bin/env bash
# tools/build.sh PRESET JOBS: configures and builds, and says how long it took.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=$1 jobs=${2:-$(nproc)}

SECONDS=0
# The configuration says little when it works and everything when it does not.
mkdir -p "build/$preset"
if ! cmake --preset "$preset" >"build/$preset/configure.log" 2>&1; then
  cat "build/$preset/configure.log" >&2
  echo "build: the configuration of preset $preset failed" >&2
  exit 1
fi
cmake --build --preset "$preset" --parallel "$jobs"
echo "build: preset $preset took $SECONDS s with $jobs jobs"
