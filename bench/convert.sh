#!/usr/bin/env bash
# Times conversions of a random checkpoint in memory, against cp -r of the same bytes in the same run.
#
#   bench/convert.sh [GIB]      size of the checkpoint, 4 if not given; needs five times as much in /dev/shm
#   SHARDSMITH_PYTORCH=FOLDER   also times the merge with real PyTorch, see .ci/real-pytorch.sh
#
# Prints a row for each conversion: seconds, GB/s of bytes written, the ratio to cp -r of the source and the most memory held.
# Times are the best of three runs, cp and conversion in turns, so that a busy machine slows down both.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

gib=${1:-4}
place=$(mktemp -d /dev/shm/shardsmith-bench.XXXXXX)
trap 'rm -rf "$place"' EXIT
now() { date +%s%N; }
watch=(env)
if [ -x /usr/bin/time ]; then watch=(/usr/bin/time -f %M -o "$place/peak"); fi

# One repetition of these layers takes half a GiB at this width.
pattern=
for _ in $(seq $((2 * gib))); do pattern+=M-M-M*-M-; done
sizes=(--pattern "$pattern" --hidden 2048 --heads 16 --vocab 32768 --seed 1)
echo "pattern $pattern, hidden size 2048, bfloat16"
./shardsmith sample "$place/tp4pp2" "${sizes[@]}" --tp 4 --pp 2 --quiet > /dev/null
bytes=$(du -sb "$place/tp4pp2" | cut -f1)
echo "source $(numfmt --to=iec "$bytes") in $(find "$place/tp4pp2" -name '*.pt' | wc -l) files"

# measure NAME SOURCE OPTIONS...: the best of three turns of cp -r and convert
measure() {
  local name=$1 source=$2 copy best=0 cp_best=0 start took peak=0 most
  shift 2
  copy=$place/copy
  for _ in 1 2 3; do
    rm -rf "$copy" "$place/out"
    start=$(now)
    cp -r "$source" "$copy"
    took=$(($(now) - start))
    if [ "$cp_best" -eq 0 ] || [ "$took" -lt "$cp_best" ]; then cp_best=$took; fi
    rm -rf "$copy"
    start=$(now)
    "${watch[@]}" ./shardsmith convert "$source" "$place/out" --quiet "$@" > /dev/null
    took=$(($(now) - start))
    if [ -e "$place/peak" ]; then
      most=$(cat "$place/peak")
      if [ "$most" -gt "$peak" ]; then peak=$most; fi
    fi
    if [ "$best" -eq 0 ] || [ "$took" -lt "$best" ]; then best=$took; fi
  done
  local written
  written=$(du -sb "$place/out" | cut -f1)
  awk -v n="$name" -v t="$best" -v c="$cp_best" -v b="$written" -v m="$peak" 'BEGIN {
    printf "%-28s %7.2f s  %5.2f GB/s  cp -r %7.2f s  ratio %.2f  peak %d MiB\n",
      n, t / 1e9, b / t, c / 1e9, t / c, m / 1024 }'
}

measure 'TP4 PP2 -> TP1 PP1' "$place/tp4pp2" --tp 1 --pp 1
mv "$place/out" "$place/tp1"
rm -rf "$place/tp4pp2"
measure 'TP1 -> TP8' "$place/tp1" --tp 8 --pp 1
layers=$(printf '%s' "$pattern" | wc -c)
measure 'PP1 -> PP3, uneven' "$place/tp1" --tp 1 --pp 3 \
  --pp-layers "$((layers / 2)),$((layers / 4)),$((layers - layers / 2 - layers / 4))"
measure 'TP1 -> torch_dist TP4' "$place/tp1" --to torch_dist --tp 4 --pp 1
mv "$place/out" "$place/dist"
measure 'torch_dist -> Hugging Face' "$place/dist" --to huggingface
mv "$place/out" "$place/folder"
measure 'torch_dist TP4 -> TP2 PP2' "$place/dist" --to torch_dist --tp 2 --pp 2
rm -rf "$place/dist"
measure 'Hugging Face -> TP2' "$place/folder" --to megatron --tp 2 --pp 1
measure 'Hugging Face, 1 GB shards' "$place/folder" --to huggingface --max-shard-size 1G
measure 'Hugging Face -> safetensors' "$place/folder" --to safetensors
rm -rf "$place/folder"

if [ -n "${SHARDSMITH_PYTORCH:-}" ]; then
  echo
  mkdir -p "$SHARDSMITH_PYTORCH/dev/shm"
  mount --bind "$place" "$SHARDSMITH_PYTORCH/dev/shm"
  trap 'umount "$SHARDSMITH_PYTORCH/dev/shm"; rm -rf "$place"' EXIT
  cp bench/pytorch_copy.py "$place/"
  chroot "$SHARDSMITH_PYTORCH" python3 /dev/shm/pytorch_copy.py /dev/shm/tp1
fi
