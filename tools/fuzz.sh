#!/usr/bin/env bash
# tools/fuzz.sh SECONDS [ONLY [JOBS]]: builds the fuzz targets with clang and runs each for SECONDS from
# seeds made here, JOBS at a time. ONLY: a pattern that names of runs must match. Closes with
# "N passed, N failed, N skipped", a run being one target from one set of seeds.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
seconds=${1:-60} only=${2:-} jobs=${3:-$(nproc)}
build=build/fuzz

# Runs: name, target, folders of seeds. What tells most comes first.
runs=(jpeg:picture parquet:parquet tar:tar png:picture webp:picture jsonl:jsonl tokenizer:tokenizer
  safetensors:safetensors others:picture coco:coco csv:csv arrow:arrow torch:torch)

tools/build.sh fuzz "$jobs" || { echo "0 passed, 1 failed, 0 skipped"; exit 1; }
seeds=$build/seeds findings=$build/findings logs=$build/logs
rm -rf "$seeds" "$findings" "$logs"
mkdir -p "$findings" "$logs"
/usr/bin/python3 fuzz/make_seeds.py "$seeds" && "$build/fuzz/fuzz_table_seeds" "$seeds" || { echo "0 passed, 1 failed, 0 skipped"; exit 1; }

# add_corpus RUN PATTERN FOLDER: files of the wider corpus as further seeds, small ones only.
add_corpus() {
  [ -n "${CANTILEVER_CORPUS:-}" ] || return 0
  mkdir -p "$seeds/$1"
  find "$CANTILEVER_CORPUS/$3" -type f -size -64k -name "$2" -exec cp -n -t "$seeds/$1" {} + 2>/dev/null || true
}
add_corpus jpeg '*.jp*g' odd-images
add_corpus png '*.png' odd-images
add_corpus webp '*.webp' odd-images
for ending in gif bmp 'tif*' ico; do add_corpus others "*.$ending" odd-images; done
add_corpus parquet '*.parquet' datasets
add_corpus arrow '*.arrow' datasets
add_corpus tar '*.tar' datasets
add_corpus jsonl '*.jsonl' datasets
add_corpus csv '*.csv' datasets
add_corpus coco 'coco*.json' datasets
add_corpus safetensors '*.safetensors' safetensors

# Inputs pass through a file: where there is memory for files it is ten times as many a second.
[ -w /dev/shm ] && [ "$(df --output=avail -k /dev/shm | tail -n 1)" -gt 65536 ] && export TMPDIR=/dev/shm
export ASAN_OPTIONS="detect_stack_use_after_return=1:allocator_may_return_null=1:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}"

# run NAME TARGET
run() {
  local corpus=$build/corpus/$1 status=0
  mkdir -p "$corpus" "$seeds/$1"
  "$build/fuzz/fuzz_$2" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=1024 \
    -max_len=65536 -artifact_prefix="$findings/$1-" -print_final_stats=1 "$corpus" "$seeds/$1" \
    >"$logs/$1" 2>&1 </dev/null || status=$?
  local count
  count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$logs/$1")
  if [ "$status" -eq 0 ] && [ "${count:-0}" -gt 0 ]; then
    echo "fuzz $1: nothing found in $count inputs"
    echo passed >"$logs/$1.result"
  else
    echo "fuzz $1: FAILED with exit status $status, $logs/$1:"
    grep -aE 'ERROR:|fuzz:|runtime error|SUMMARY|artifact_prefix|Test unit written' "$logs/$1" | head -8
    echo failed >"$logs/$1.result"
  fi
}

for entry in "${runs[@]}"; do
  name=${entry%%:*} target=${entry##*:}
  [[ $name =~ $only ]] || continue
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
  run "$name" "$target" &
done
wait
passed=$(cat "$logs"/*.result 2>/dev/null | grep -c passed || true)
failed=$(cat "$logs"/*.result 2>/dev/null | grep -c failed || true)
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
