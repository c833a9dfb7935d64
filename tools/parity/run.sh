#!/usr/bin/env bash
# tools/parity/run.sh BUILD: every comparison with the Python reference, one script each. A script is
# called as SCRIPT --build BUILD and exits non-zero when the two disagree. A file that does not take
# --build is no comparison (a module that others import, a maker of a committed table). Closes with a
# line that counts the scripts.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${1:-$root/build/release}
python="$root/.deps/python/bin/python"
[ -x "$python" ] || { echo "parity: $python is missing: run tools/setup/python_reference.sh" >&2; exit 1; }
# One process compares: nothing is fetched, and threads do not change the order of sums.
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 TOKENIZERS_PARALLELISM=false
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"

passed=0 failed=0 names=()
for script in "$here"/*.py; do
  name=$(basename "$script")
  grep -qs -e '--build' "$script" || continue
  echo "parity: $name"
  SECONDS=0
  if "$python" "$script" --build "$build" </dev/null; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    names+=("$name")
  fi
  echo "parity: $name took $SECONDS s"
done
[ ${#names[@]} -eq 0 ] || echo "parity: disagreed or broke: ${names[*]}"
echo
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
