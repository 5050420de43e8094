#!/usr/bin/env bash
# Times diff and manifest on a random checkpoint in memory, against cmp and sha256sum on the same bytes in the same run. Some
# sha256sum use the instructions of the processor, some do not; openssl, where it is installed, always does.
#
#   bench/diff.sh [GIB]         size of the checkpoint, 2 if not given; needs three times as much in /dev/shm
#
# Each figure is the best of three turns of ours and theirs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

gib=${1:-2}
place=$(mktemp -d /dev/shm/shardsmith-bench.XXXXXX)
trap 'rm -rf "$place"' EXIT
now() { date +%s%N; }

pattern=
for _ in $(seq $((2 * gib))); do pattern+=M-M-M*-M-; done
sizes=(--pattern "$pattern" --hidden 2048 --heads 16 --vocab 32768 --quiet)
./shardsmith sample "$place/tp2" "${sizes[@]}" --seed 1 --tp 2 > /dev/null
cp -r "$place/tp2" "$place/copy"
bytes=$(du -sb "$place/tp2" | cut -f1)
echo "checkpoint of $(numfmt --to=iec "$bytes"), TP 2, hidden size 2048, bfloat16, $(nproc) processors"

# best COMMAND...: nanoseconds of the best of three runs
best() {
  local least=0 start took
  for _ in 1 2 3; do
    start=$(now)
    "$@" > /dev/null || true
    took=$(($(now) - start))
    if [ "$least" -eq 0 ] || [ "$took" -lt "$least" ]; then least=$took; fi
  done
  echo "$least"
}

compare_files() {
  local file
  (cd "$place/tp2" && find . -type f) | while read -r file; do cmp "$place/tp2/$file" "$place/copy/$file"; done
}

# row NAME NANOSECONDS BYTES BAR [PEER NANOSECONDS]: a rate beside its bar, or a ratio to a peer beside its bar
row() {
  awk -v n="$1" -v t="$2" -v b="$3" -v bar="$4" -v o="${5:-}" -v c="${6:-1}" 'BEGIN {
    printf "%-42s %6.2f s  %5.2f GB/s", n, t / 1e9, b / t
    if (o != "") printf "  %s %.2f s, ratio %.2f", o, c / 1e9, t / c
    if (bar != "") {
      holds = o != "" ? t / c <= bar : b / t >= bar
      printf "  (bar: %s %s, %s)", o != "" ? "at most" : "at least", bar, holds ? "holds" : "missed"
    }
    print "" }'
}

# rates NAME NANOSECONDS: of one side's bytes, and of the bytes of both sides that were compared
rates() {
  row "$1" "$2" "$bytes" ''
  row '  bytes of both sides' "$2" $((2 * bytes)) 1.5
}

theirs=$(best compare_files)
row 'diff, same layout, equal' "$(best ./shardsmith diff "$place/tp2" "$place/copy" --quiet)" "$bytes" 1.3 cmp "$theirs"
rm -rf "$place/copy"
./shardsmith convert "$place/tp2" "$place/tp4" --tp 4 --quiet > /dev/null
rates 'diff, TP2 against TP4, equal' "$(best ./shardsmith diff "$place/tp2" "$place/tp4" --quiet)"
rm -rf "$place/tp4"
./shardsmith sample "$place/other" "${sizes[@]}" --seed 2 --tp 1 > /dev/null
rates 'diff, TP2 against TP1, all values differ' "$(best ./shardsmith diff "$place/tp2" "$place/other" --quiet)"
rates 'the same with tolerances' \
  "$(best ./shardsmith diff "$place/tp2" "$place/other" --quiet --rtol 0.01 --atol 0.001)"
rm -rf "$place/other"

digest() { find "$place/tp2" -type f -exec sha256sum {} +; }
digest_in_parallel() { find "$place/tp2" -type f -print0 | xargs -0 -n 1 -P "$(nproc)" sha256sum; }
theirs=$(best digest)
row 'manifest, one worker' \
  "$(best ./shardsmith manifest "$place/tp2" -o "$place/m" --force --workers 1 --quiet)" "$bytes" 1.2 sha256sum "$theirs"
theirs=$(best digest_in_parallel)
row 'manifest, all workers' \
  "$(best ./shardsmith manifest "$place/tp2" -o "$place/m" --force --quiet)" "$bytes" 1.2 "sha256sum, $(nproc) at a time" "$theirs"

if command -v openssl > /dev/null; then
  fastest() { find "$place/tp2" -type f -exec openssl dgst -sha256 {} +; }
  fastest_in_parallel() { find "$place/tp2" -type f -print0 | xargs -0 -n 1 -P "$(nproc)" openssl dgst -sha256; }
  row 'openssl, one file after the other' "$(best fastest)" "$bytes" ''
  row 'openssl, all processors' "$(best fastest_in_parallel)" "$bytes" ''
fi

# The peak of resident memory does not depend on the size of the checkpoint.
for command in "diff $place/tp2 $place/tp2" "manifest $place/tp2 -o $place/m --force" "inspect $place/tp2 --stats"; do
  # shellcheck disable=SC2086  # words of a command
  ./shardsmith $command --quiet > /dev/null &
  child=$! peak=0
  while status=$(cat "/proc/$child/status" 2> /dev/null) && [[ $status =~ VmHWM:[[:space:]]+([0-9]+) ]]; do
    if [ "${BASH_REMATCH[1]}" -gt "$peak" ]; then peak=${BASH_REMATCH[1]}; fi
    sleep 0.05
  done
  wait "$child"
  printf '%-42s %6d MiB resident at most  (bar: at most 500)\n' "${command%% *}" $((peak / 1024))
done
