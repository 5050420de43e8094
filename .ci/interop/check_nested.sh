#!/usr/bin/env bash
# Converts a nested file with keys that are no strings to a distributed checkpoint, and PyTorch's own checkpoint of it to a flat
# file, for check_nested.py to load.
set -euo pipefail
target=$1
cp test-data/dcp-nested/source.pt "$target/source.pt"
shardsmith convert "$target/source.pt" "$target/dcp" --quiet --to torch_dist > /dev/null
shardsmith convert test-data/dcp-nested/ckpt "$target/flat.pt" --quiet --to pt > /dev/null
