#!/usr/bin/env bash
# Installs what the build needs: Debian packages, and LibTorch and Arrow as wheels unpacked in
# .deps/site. Can be run again at any time: what is there stays, a broken download goes on where it
# stopped, and with nothing to do it takes a fraction of a second.
#
#   tools/setup/setup.sh          what `make build`, `make test` and `make demo` need
#   tools/setup/setup.sh lint     the formatter
#   tools/setup/setup.sh fuzz     that and clang with its fuzzer
#
# Nothing is written outside the checkout except by apt. Wheels are kept in
# ${XDG_CACHE_HOME:-~/.cache}/cantilever/wheels when somebody has made that folder.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

SITE="$DEPS/site"
STAMP=.cantilever-wheels

# install_packages LIST: the packages of a list that dpkg does not know as installed.
install_packages() {
  command -v dpkg-query >/dev/null || die "dpkg-query is missing: this set-up is for Debian 12"
  local wanted missing
  wanted=$(sed 's/#.*//' "$1" | tr -s '[:space:]' '\n' | grep -v '^$' | sort)
  # A virtual package or one that was removed but not purged is not "installed".
  # shellcheck disable=SC2086
  missing=$(comm -23 <(printf '%s\n' "$wanted") \
    <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $wanted 2>/dev/null |
      awk '$2 == "installed" {print $1}' | sort -u) | tr '\n' ' ')
  [ -n "${missing// /}" ] || return 0

  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      die "missing Debian packages: $missing(neither root nor sudo here; install them and run this again)"
    sudo=(sudo)
  fi
  say "installing Debian packages: $missing"
  # Handed over by name: sudo drops the environment.
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive)
  local name
  for name in http_proxy https_proxy no_proxy; do
    [ -z "${!name:-}" ] || apt+=("$name=${!name}")
  done
  apt+=(apt-get --quiet --option Acquire::Retries=2 --option DPkg::Lock::Timeout=300)
  local failed="missing Debian packages: $missing"
  "${apt[@]}" update >>"$SETUP_LOG" 2>&1 </dev/null ||
    die "$failed(apt-get update: $(last_reason); details: $SETUP_LOG)"
  # shellcheck disable=SC2086
  "${apt[@]}" install --yes --no-install-recommends $missing >>"$SETUP_LOG" 2>&1 </dev/null ||
    die "$failed(apt-get install: $(last_reason); details: $SETUP_LOG)"
}

# is_wheel PATH SIZE SHA256
is_wheel() {
  [ -f "$1" ] && [ "$(stat -c %s "$1")" = "$2" ] &&
    [ "$(sha256sum "$1" | cut -d' ' -f1)" = "$3" ]
}

# wheel_url NAME VERSION SHA256: where pip, as this user has configured it, would get the wheel.
# pip reads the wheel's metadata only, so this costs no download.
wheel_url() {
  "$DEPS/tools-venv/bin/pip" install --quiet --disable-pip-version-check --dry-run --no-deps \
    --ignore-installed --only-binary=:all: --report - "$1==$2" 2>>"$SETUP_LOG" |
    "$PYTHON" -c '
import json, sys
report = json.load(sys.stdin)["install"][0]["download_info"]
if report["archive_info"]["hashes"].get("sha256") != sys.argv[1]:
    sys.exit("ERROR: the index offers other bytes than the pinned wheel")
print(report["url"])' "$3" 2>>"$SETUP_LOG"
}

# curl_resume URL FILE: pip cannot go on with half a wheel, curl can.
curl_resume() {
  local options=(--fail --silent --show-error --location --retry 5 --retry-all-errors
    --connect-timeout 30 --speed-limit 1000 --speed-time 60 --output "$2")
  local certificate="${PIP_CERT:-$("$DEPS/tools-venv/bin/pip" config get global.cert 2>/dev/null || true)}"
  [ -z "$certificate" ] || options+=(--cacert "$certificate")
  local proxy="${PIP_PROXY:-$("$DEPS/tools-venv/bin/pip" config get global.proxy 2>/dev/null || true)}"
  [ -z "$proxy" ] || options+=(--proxy "$proxy")
  curl "${options[@]}" --continue-at - "$1"
}

# fetch_wheel FOLDER NAME VERSION FILE SIZE SHA256: the wheel in FOLDER, whole and with the pinned hash.
fetch_wheel() {
  local folder=$1 name=$2 version=$3 file=$4 size=$5 sha256=$6
  local wheel="$folder/$file" part="$folder/$file.part"
  ! is_wheel "$wheel" "$size" "$sha256" || return 0
  rm -f "$wheel"
  local missing="missing: wheel $name $version"

  local url
  if ! url=$(wheel_url "$name" "$version" "$sha256") || [ -z "$url" ]; then
    die "$missing, the package index did not deliver it: $(last_reason) (details: $SETUP_LOG)"
  fi
  local have status
  for _ in first second; do
    have=$(stat -c %s "$part" 2>/dev/null || echo 0)
    if [ "$have" -ge "$size" ]; then
      ! is_wheel "$part" "$size" "$sha256" || break
      rm -f "$part"  # long enough but wrong: nothing to go on with
      have=0
    fi
    if [ "$have" -gt 0 ]; then
      say "downloading $name $version, going on at byte $have of $size"
    else
      say "downloading $name $version ($((size / 1000000)) MB)"
    fi
    status=0
    curl_resume "$url" "$part" 2>>"$SETUP_LOG" || status=$?
    ! is_wheel "$part" "$size" "$sha256" || break
    case $status in
      0 | 22 | 33 | 36) rm -f "$part" ;;  # wrong bytes, or a server that cannot go on: from the start
      *) break ;;                         # curl has tried often enough
    esac
  done
  if ! is_wheel "$part" "$size" "$sha256"; then
    # An index that wants a login hides it from its report; pip itself can still get in.
    say "curl did not get $name $version; trying pip"
    "$DEPS/tools-venv/bin/pip" download --quiet --disable-pip-version-check --no-deps \
      --only-binary=:all: --dest "$folder" "$name==$version" >>"$SETUP_LOG" 2>&1 ||
      die "$missing, the download broke off (run this again to go on): $(last_reason) (details: $SETUP_LOG)"
    is_wheel "$wheel" "$size" "$sha256" ||
      die "$missing: what the index delivered has another size or SHA-256 than pinned in tools/setup/versions.sh"
    rm -f "$part"
    return 0
  fi
  mv "$part" "$wheel"
}

wheel_table() { printf '%s\n' "${WHEELS[@]}"; }

site_is_whole() {
  [ "$(cat "$SITE/$STAMP" 2>/dev/null)" = "$(wheel_table)" ] || return 1
  local file
  for file in "${SITE_FILES[@]}"; do [ -f "$SITE/$file" ] || return 1; done
}

# Unpacks beside and renames: .deps/site is the old one or the new one, never half of either.
fill_site() {
  check_python
  [ "$(uname -m)" = x86_64 ] || die "the pinned wheels are for x86_64, this is $(uname -m)"
  make_venv "$DEPS/tools-venv"
  local cache="${XDG_CACHE_HOME:-${HOME:-}/.cache}/cantilever/wheels" downloads="$DEPS/downloads"
  [ ! -w "$cache" ] || downloads=$cache
  mkdir -p "$downloads"

  local fresh="$DEPS/site.new" row
  rm -rf "$fresh"
  mkdir "$fresh"
  for row in "${WHEELS[@]}"; do
    # shellcheck disable=SC2086
    fetch_wheel "$downloads" $row
  done
  for row in "${WHEELS[@]}"; do
    local fields
    read -ra fields <<<"$row"
    say "unpacking ${fields[0]} ${fields[1]}"
    "$PYTHON" -m zipfile -e "$downloads/${fields[2]}" "$fresh" >>"$SETUP_LOG" 2>&1 ||
      die "cannot unpack ${fields[2]} (disk full?): $(last_reason) (details: $SETUP_LOG)"
  done
  local file
  for file in "${SITE_FILES[@]}"; do
    [ -f "$fresh/$file" ] || die "the wheels hold no $file: SITE_FILES and WHEELS of tools/setup/versions.sh disagree"
  done
  wheel_table >"$fresh/$STAMP"
  if [ -L "$SITE" ]; then
    rm "$SITE"  # the link only, what it points to is somebody else's
  elif [ -e "$SITE" ]; then
    rm -rf "$DEPS/site.old"
    mv "$SITE" "$DEPS/site.old"
  fi
  mv "$fresh" "$SITE"
  rm -rf "$DEPS/site.old" "$DEPS/downloads"
}

main() {
  mkdir -p "$DEPS"
  case "${1:-build}" in
    build)
      lock_deps
      install_packages "$SETUP_DIR/debian-packages.txt"
      # Not `site_is_whole || fill_site`: there errexit would be off inside.
      if ! site_is_whole; then
        fill_site
        say "done: .deps/site has $(du -sh "$SITE" | cut -f1)"
      fi
      ;;
    lint)
      lock_deps
      install_packages "$SETUP_DIR/debian-packages-lint.txt"
      ;;
    fuzz)
      main build
      install_packages "$SETUP_DIR/debian-packages-fuzz.txt"
      ;;
    *) die "unknown request '$1': nothing, lint or fuzz" ;;
  esac
}

main "$@"
