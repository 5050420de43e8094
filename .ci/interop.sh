#!/usr/bin/env bash
# Loads what shardsmith writes with real PyTorch on the CPU. Skipped with one line where PyTorch cannot be installed.
#
# Each script in .ci/interop/ is run in the PyTorch folder with the repository's files copied in: NAME.sh on this side
# first, if there is one, with the folder to write to; then NAME.py inside, with the same folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts=(.ci/interop/*.py)
if [ ! -e "${scripts[0]}" ]; then
  echo 'nothing to load yet'
  exit 0
fi
root=${SHARDSMITH_PYTORCH:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/shardsmith/real-pytorch}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! .ci/real-pytorch.sh "$root" > "$log" 2>&1; then
  echo "skipped: PyTorch cannot be installed here: $(tail -n 1 "$log")"
  exit 0
fi
tail -n 1 "$log"

export PATH=$PWD:$PATH
work=$root/tmp/shardsmith-interop
rm -rf "$work"
mkdir -p "$work"
trap 'rm -f "$log"; rm -rf "$work"' EXIT
for script in "${scripts[@]}"; do
  name=$(basename "$script" .py)
  mkdir -p "$work/$name"
  if [ -e ".ci/interop/$name.sh" ]; then bash ".ci/interop/$name.sh" "$work/$name"; fi
  cp "$script" "$work/$name.py"
  chroot "$root" python3 "/tmp/shardsmith-interop/$name.py" "/tmp/shardsmith-interop/$name"
done
