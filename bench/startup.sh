#!/usr/bin/env bash
# Times the start-up: twenty runs of --help after the first, in milliseconds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./shardsmith --help > /dev/null
for _ in $(seq 20); do
  start=$(date +%s%N)
  ./shardsmith --help > /dev/null
  echo $((($(date +%s%N) - start) / 1000000))
done | sort -n | awk '{ t[NR] = $1 } END { printf "least %d ms, median %d ms, most %d ms\n", t[1], t[int((NR + 1) / 2)], t[NR] }'
