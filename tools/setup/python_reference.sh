#!/usr/bin/env bash
# Fills .deps/python with the Python reference that `make parity` compares with: Transformers, the
# full LibTorch with its CUDA libraries (some 3 GB; torch does not start without them), TensorBoard.
# A second run with nothing to do takes a fraction of a second.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

VENV="$DEPS/python"
REQUIREMENTS="$ROOT/tools/reference/requirements.txt"
STAMP="$VENV/.cantilever-requirements"

main() {
  lock_deps
  local wanted
  wanted=$(sed 's/#.*//' "$REQUIREMENTS" | grep -v '^[[:space:]]*$'; printf '%s\n' "${REFERENCE_EXTRA[@]}")
  [ "$(cat "$STAMP" 2>/dev/null)" != "$wanted" ] || exit 0
  check_python
  make_venv "$VENV"
  say "installing the Python reference (some 3 GB, a minute or more)"
  "$VENV/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: \
    --requirement "$REQUIREMENTS" "${REFERENCE_EXTRA[@]}" >>"$SETUP_LOG" 2>&1 ||
    die "missing: the Python reference, the package index did not deliver it: $(last_reason) (details: $SETUP_LOG)"
  printf '%s\n' "$wanted" >"$STAMP"
  say "done: .deps/python has $(du -sh "$VENV" | cut -f1)"
}

main "$@"
