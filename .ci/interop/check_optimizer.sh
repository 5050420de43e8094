#!/usr/bin/env bash
# Converts golden checkpoints with an optimizer's state to other sizes, for check_optimizer.py to load.
set -euo pipefail
target=$1
cases=test-data/megatron-torch-dist
for case in optim_fp32main_tp2 optim_distopt_dp2_fully_reshardable; do
  mkdir -p "$target/$case"
  cp "$cases/$case/expected.json" "$target/$case/"
  for sizes in '1 1' '2 1' '2 3'; do
    read -r tp pp <<< "$sizes"
    shardsmith convert "$cases/$case/iter_0000012" "$target/$case/tp${tp}pp$pp" --quiet --optimizer keep \
      --tp "$tp" --pp "$pp" > /dev/null
  done
  # There and back again.
  shardsmith convert "$target/$case/tp2pp3" "$target/$case/again" --quiet --optimizer keep --tp 1 --pp 1 > /dev/null
done
