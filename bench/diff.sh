#!/usr/bin/env bash
# Measures diff and manifest against cmp and sha256sum on the same bytes, in the same run, from the page cache.
#
#   bench/diff.sh [FOLDER]    folder for about 6 GiB of samples; a new one under /tmp, removed afterwards, if not given
#   SHARDSMITH                the program; ./shardsmith if not set
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=${SHARDSMITH:-./shardsmith}

folder=${1:-}
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi

make_sample() {
  [ -e "$folder/$1" ] || "$program" sample "$folder/$1" --pattern 'M-M-M-M*-M-M-M-M*-' --hidden 2048 --ffn 8192 --heads 16 \
    --vocab 16384 --quiet "${@:2}" > /dev/null
}

# Seconds and processor seconds of the best of three runs: the page cache and the neighbours on the machine count least.
best() {
  local took TIMEFORMAT='%R %U %S'
  for _ in 1 2 3; do
    took=$({ time "$@" > /dev/null 2>&1 || [ $? = 1 ]; } 2>&1)
    echo "$took"
  done | awk '{ print $1, $2 + $3 }' | sort -n | head -n 1
}

# Peak resident set in MiB.
peak() {
  { /usr/bin/time -f %M "$@" > /dev/null || true; } 2>&1 | tail -n 1 | awk '{ printf "%d", $1 / 1024 }'
}

files() {
  find "$folder/$1" -name '*.pt' -print0 | sort -z
}

compare_files() {
  paste -d '\n' <(find "$folder/$1" -name '*.pt' | sort) <(find "$folder/$2" -name '*.pt' | sort) | while read -r a && read -r b; do
    cmp "$a" "$b"
  done
}

digest_files() {
  files "$1" | xargs -0 -n 1 -P "$(nproc)" sha256sum
}

# Name, "seconds processor-seconds", bytes, remark.
line() {
  awk -v name="$1" -v took="$2" -v bytes="$3" -v remark="${4:-}" 'BEGIN {
    split(took, t, " ");
    printf "%-36s %7.2f s %7.2f cpu-s %6.2f GB/s %6.2f GB/cpu-s  %s\n", name, t[1], t[2], bytes / 1e9 / t[1], bytes / 1e9 / t[2], remark
  }'
}

ratio() {
  awk -v a="$1" -v b="$2" -v of="$3" 'BEGIN { split(a, x, " "); split(b, y, " "); printf "%.2f x %s", x[1] / y[1], of }'
}

make_sample one --tp 1
make_sample four --tp 4
make_sample other --tp 1 --seed 1
[ -e "$folder/copy" ] || cp -r "$folder/one" "$folder/copy"
bytes=$(files one | xargs -0 stat -c %s | awk '{ sum += $1 } END { print sum }')
echo "$bytes bytes on each side, $(nproc) processors; best of three"

cmp=$(best compare_files one copy)
line 'cmp, identical files' "$cmp" "$bytes"
same=$(best "$program" diff "$folder/one" "$folder/copy")
line 'diff, identical checkpoints' "$same" "$bytes" "$(ratio "$same" "$cmp" cmp), wanted at most 1.3"
cross=$(best "$program" diff "$folder/one" "$folder/four")
line 'diff, TP 1 against TP 4' "$cross" "$bytes" 'wanted at least 1.5 GB/s'
numeric=$(best "$program" diff "$folder/one" "$folder/other")
line 'diff, every value different' "$numeric" "$bytes" 'wanted at least 1.5 GB/s'
sha=$(best digest_files one)
line 'sha256sum, one process a file' "$sha" "$bytes"
manifest=$(best "$program" manifest "$folder/one" -o "$folder/manifest")
line 'manifest, with statistics' "$manifest" "$bytes" "$(ratio "$manifest" "$sha" sha256sum), wanted at most 1.2"
if [ -x /usr/bin/time ]; then
  echo "peak resident set of diff: $(peak "$program" diff "$folder/one" "$folder/other") MiB, wanted below 500"
fi
