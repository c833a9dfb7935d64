#!/usr/bin/env bash
# tools/parity/run.sh [BUILD]: every comparison with the Python reference, one script each; a script
# that exits non-zero disagrees. Closes with a line that counts the scripts.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(realpath "${1:-$root/build/release}")
python="$root/.deps/python/bin/python"
[ -x "$python" ] || { echo "parity: $python is missing: run tools/setup/python_reference.sh" >&2; exit 1; }
# Nothing is fetched, and one thread sums in one order.
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 HF_DATASETS_OFFLINE=1 TOKENIZERS_PARALLELISM=false
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
corpus=${CANTILEVER_CORPUS:-}

# arguments_of SCRIPT: what it is called with; a new script takes --build BUILD and needs no line here.
arguments_of() {
  case "$1" in
    tokenizer_parity.py | tokenizer_speed.py) arguments=("$build/tests/tokenizer_encode_lines") ;;
    probe_unicode_ranges.py) arguments=(--check "$root/cantilever/data/text/unicode_ranges.inc") ;;
    *) arguments=(--build "$build") ;;
  esac
}
needs_corpus() { grep -q CANTILEVER_CORPUS "$1"; }

passed=0 failed=0 skipped=0 names=()
for script in "$here"/*.py; do
  name=$(basename "$script")
  # Modules that the scripts share begin with an underscore.
  [[ -e "$script" && "$name" != _* ]] || continue
  if [ -z "$corpus" ] && needs_corpus "$script" && [ "${CI:-}" != true ]; then
    echo "parity: $name skipped: CANTILEVER_CORPUS is not set"
    skipped=$((skipped + 1))
    continue
  fi
  arguments_of "$name"
  echo "parity: $name"
  SECONDS=0
  if "$python" "$script" "${arguments[@]}" </dev/null; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    names+=("$name")
  fi
  echo "parity: $name took $SECONDS s"
done
[ ${#names[@]} -eq 0 ] || echo "parity: disagreed or broke: ${names[*]}"
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
