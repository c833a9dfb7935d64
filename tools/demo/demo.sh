#!/usr/bin/env bash
# The demo: a small real picture-caption set from Debian packages, a small model from scratch, the main
# command as a user would type it, and what was learned. Everything lands in out/demo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

python=/usr/bin/python3
cantilever=build/release/cantilever
out=out/demo

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
# Shows a command as one would type it, then runs it.
run() {
  printf '$ '
  printf '%s' "$1"
  for word in "${@:2}"; do
    case $word in
    --*) printf ' \\\n    %s' "$word" ;;
    *[!A-Za-z0-9_./=-]*) printf " '%s'" "$word" ;;
    *) printf ' %s' "$word" ;;
    esac
  done
  printf '\n'
  "$@"
}

say "1/5 The set: emoji pictures (fonts-noto-color-emoji) and their names (unicode-data)"
rm -rf "$out"
mkdir -p "$out"
PYTHONPATH=.deps/site $python tools/demo/make_emoji_set.py "$out/emoji"

data=(--dataset_name "$out/emoji" --image_column image --caption_column caption)

say "2/5 A fresh model of 6 million parameters and its tokenizer"
run $cantilever init --output_dir "$out/start" --size small --image_size 64 \
  --config_overrides hidden_size=192 num_attention_heads=3 contrastive_hidden_size=192 \
  text_config.hidden_size=192 text_config.num_attention_heads=3 text_config.num_hidden_layers=3 \
  text_config.intermediate_size=768 vision_config.hidden_size=192 vision_config.patch_size=8 \
  --captions_from "$out/emoji" --image_column image --vocab_size 1500 --seed 42

say "3/5 Before training"
run $cantilever train --model_name_or_path "$out/start" --output_dir "$out/before" "${data[@]}" \
  --max_seq_length 24 --per_device_eval_batch_size 50 --do_eval --disable_tqdm
run $cantilever search --model_name_or_path "$out/start" --output_dir "$out/before/search" \
  "${data[@]}" --max_seq_length 24 --split test

say "4/5 The main job: fine-tune"
run $cantilever train --model_name_or_path "$out/start" --output_dir "$out/trained" "${data[@]}" \
  --do_train --do_eval --do_predict --max_seq_length 24 --per_device_train_batch_size 64 \
  --per_device_eval_batch_size 50 --learning_rate 8e-4 --warmup_steps 20 --max_steps 250 \
  --logging_steps 5 --eval_strategy steps --eval_steps 50 --save_strategy no \
  --dataloader_num_workers 1 --report_to tensorboard --seed 42

say "5/5 What it learned"
run $cantilever search --model_name_or_path "$out/trained" --output_dir "$out/search" "${data[@]}" \
  --max_seq_length 24 --split test --top_k 5 --queries 8
$python tools/demo/plot_run.py "$out/trained" "$out/loss.png"
$python tools/demo/report.py "$out"
