#!/usr/bin/env bash
# Converts golden checkpoints of Megatron-LM into each other's layouts, for check_convert.py to load.
set -euo pipefail
target=$1
cases=test-data/megatron-legacy
for case in current_plain_bf16 current_swiglu_float16module; do
  [ -e "$cases/$case/tp1pp1" ] || continue
  mkdir -p "$target/$case"
  cp "$cases/$case/expected.json" "$target/$case/"
  for source in "$cases/$case"/tp*pp*; do
    for goal in "$cases/$case"/tp*pp*; do
      sizes=$(basename "$goal")
      [[ $sizes =~ ^tp([0-9]+)pp([0-9]+)$ ]] || continue
      shardsmith convert "$source" "$target/$case/$(basename "$source")-$sizes" --quiet \
        --tp "${BASH_REMATCH[1]}" --pp "${BASH_REMATCH[2]}" > /dev/null
    done
  done
done
