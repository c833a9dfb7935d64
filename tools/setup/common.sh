# Shared by the scripts of this folder: places, messages, and the few checks that both need.
# shellcheck shell=bash

SETUP_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$SETUP_DIR/../.." && pwd)
DEPS="$ROOT/.deps"
SETUP_LOG="$DEPS/setup.log"
# Debian's Python, whatever else stands first in PATH: the wheels are made for its version.
PYTHON=/usr/bin/python3
# shellcheck source=tools/setup/versions.sh
source "$SETUP_DIR/versions.sh"

say() { printf 'setup: %s\n' "$*"; }

# One line that names what is missing, and where the details are.
die() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

# Why it failed, from the log: what the network or the disk said, or else the last line that looks like
# a reason ("no matching distribution" is what pip says after it could not connect).
last_reason() {
  local reason network='connection refused|connection timed out|read timed out|unable to connect|'
  network+='temporary failure[^:"]*|could not resolve[^:"]*|name or service not known|'
  network+='certificate verify failed|cannot connect to proxy|no space left on device'
  reason=$(grep -aoiE "$network" "$SETUP_LOG" | tail -n 1 || true)
  [ -n "$reason" ] ||
    reason=$(grep -aE '^(E|ERROR|curl|sudo|env|[A-Za-z]*Error):' "$SETUP_LOG" | tail -n 1 || true)
  printf '%s' "${reason:-no reason given}" | cut -c1-240
}

# Only one set-up of a checkout at a time; the lock goes with the process.
lock_deps() {
  mkdir -p "$DEPS"
  exec 9>"$DEPS/setup.lock"
  if ! flock --nonblock 9; then
    say "another set-up of this checkout is running; waiting for it"
    flock 9
  fi
  : >"$SETUP_LOG"
}

check_python() {
  local series
  series=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) ||
    die "$PYTHON is missing or does not start"
  [ "$series" = "$PYTHON_SERIES" ] ||
    die "$PYTHON is version $series, the pinned wheels need $PYTHON_SERIES (Debian 12)"
}

# make_venv FOLDER: a virtual environment with the pinned pip.
make_venv() {
  local venv=$1
  if [ "$("$venv/bin/pip" --version 2>/dev/null | cut -d' ' -f2)" != "$PIP_VERSION" ]; then
    rm -rf "$venv"
    "$PYTHON" -m venv "$venv" >>"$SETUP_LOG" 2>&1 ||
      die "cannot make a virtual environment in $venv: $(last_reason) (details: $SETUP_LOG)"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "pip==$PIP_VERSION" \
      >>"$SETUP_LOG" 2>&1 ||
      die "missing: pip $PIP_VERSION, the package index did not deliver it: $(last_reason) (details: $SETUP_LOG)"
  fi
}
