#!/usr/bin/env bash
# tools/lint/format.sh write | check: our C++ through the pinned clang-format.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/setup/versions.sh

found=$("$CLANG_FORMAT" --version 2>/dev/null | grep -oE 'version [0-9]+' | cut -d' ' -f2 || true)
if [ "$found" != "$CLANG_FORMAT_MAJOR" ]; then
  echo "format: $CLANG_FORMAT is missing or of another version: tools/setup/setup.sh lint installs it" >&2
  exit 1
fi
case "${1:-check}" in
  write) options=(-i) ;;
  check) options=(--dry-run -Werror) ;;
  *) echo "usage: $0 write|check" >&2; exit 2 ;;
esac
git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' '*.cu' |
  while IFS= read -r -d '' file; do [ ! -f "$file" ] || printf '%s\0' "$file"; done |
  xargs -0 --no-run-if-empty "$CLANG_FORMAT" "${options[@]}"
