#!/usr/bin/env bash
# Converts Hugging Face folders and plain files to plain distributed checkpoints, and rewrites folders in other shards,
# for check_plain.py to load beside their sources.
set -euo pipefail
target=$1
for family in bamba jamba; do
  mkdir -p "$target/$family"
  cp -r "test-data/hf/$family/safetensors" "$target/$family/source"
  shardsmith convert "$target/$family/source" "$target/$family/dcp" --quiet --to torch_dist > /dev/null
  shardsmith convert "$target/$family/source" "$target/$family/rewritten" --quiet --to huggingface --max-shard-size 40K > /dev/null
  shardsmith convert "$target/$family/dcp" "$target/$family/back.safetensors" --quiet --to safetensors > /dev/null
  shardsmith convert "$target/$family/source" "$target/$family/state.pt" --quiet --to pt > /dev/null
  shardsmith convert "$target/$family/state.pt" "$target/$family/dcp_of_pt" --quiet --to torch_dist --max-shard-size 40K > /dev/null
done
