#!/usr/bin/env bash
# Converts golden checkpoints of Megatron-LM to torch_dist, for check_megatron.py to load with Megatron-LM's own code.
#
#   SHARDSMITH_MEGATRON   folder with the source of Megatron-LM; nothing is done where it is unset
set -euo pipefail
target=$1
[ -n "${SHARDSMITH_MEGATRON:-}" ] || exit 0
cp -r "$SHARDSMITH_MEGATRON/megatron" "$target/"
cases=test-data/megatron-legacy
for case in current_plain_bf16 current_swiglu_float16module current_moe_swiglu_tied; do
  [ -e "$cases/$case/tp1pp1" ] || continue
  mkdir -p "$target/$case"
  cp "$cases/$case/expected.json" "$target/$case/"
  for goal in "$cases/$case"/tp*pp*; do
    sizes=$(basename "$goal")
    [[ $sizes =~ ^tp([0-9]+)pp([0-9]+)$ ]] || continue
    shardsmith convert "$cases/$case/tp1pp1" "$target/$case/legacy-$sizes" --quiet --to torch_dist \
      --tp "${BASH_REMATCH[1]}" --pp "${BASH_REMATCH[2]}" > /dev/null
  done
  name=${case#current_}
  for source in "test-data/megatron-torch-dist/$name"_tp*; do
    shardsmith convert "$source" "$target/$case/$(basename "${source#*"$name"_}")-tp2pp1" --quiet --to torch_dist \
      --tp 2 --pp 1 > /dev/null
  done
done
# From a Hugging Face folder.
shardsmith convert "$cases/current_plain_bf16/tp2pp1" "$target/folder" --quiet --to huggingface > /dev/null
shardsmith convert "$target/folder" "$target/current_plain_bf16/huggingface-tp2pp2" --quiet --to torch_dist --tp 2 --pp 2 > /dev/null
rm -r "$target/folder"
# Older key names: common.pt beside the shards.
mkdir -p "$target/older_plain_bf16"
cp "$cases/older_plain_bf16/expected.json" "$target/older_plain_bf16/"
shardsmith convert "$cases/older_plain_bf16/tp2pp2" "$target/older_plain_bf16/legacy-tp2pp1" --quiet --to torch_dist \
  --tp 2 --pp 1 > /dev/null
