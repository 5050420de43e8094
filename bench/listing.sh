#!/usr/bin/env bash
# Times how checkpoints of very many tensors are opened and listed; the whole process, as a user starts it.
#
#   bench/listing.sh [ENTRIES [TENSORS]]    1,000,000 entries of .metadata and 100,000 tensors of a file, if not given
#
# Least of three runs each, in seconds of the clock and of processor time, with the most memory held.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

entries=${1:-1000000}
tensors=${2:-100000}
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
place=$(mktemp -d "${TMPDIR:-/tmp}/shardsmith-bench.XXXXXX")
trap 'rm -rf "$place"' EXIT
./mvnw -B -q -Dfast -pl formats -am test-compile

for names in plain megatron; do
  mkdir "$place/$names"
  "$java" -Xmx2g -XX:+UseSerialGC -cp formats/target/classes:formats/target/test-classes \
    dev.shardsmith.formats.dcp.LargeMetadata "$place/$names" "$entries" "$names"
done
"$java" -Xmx1g -XX:+UseSerialGC -cp formats/target/classes:formats/target/test-classes \
  dev.shardsmith.formats.torch.LargeStateDict "$place/model.pt" "$tensors"
# Experts of 2 x 4 elements, one file of holes.
mkdir "$place/huggingface"
echo '{"model_type": "unknown"}' > "$place/huggingface/config.json"
awk -v count="$tensors" 'BEGIN {
    printf "{"
    for (i = 0; i < count; i++)
      printf "%s\"model.layers.%d.mlp.experts.%d.weight\":{\"dtype\":\"BF16\",\"shape\":[2,4],\"data_offsets\":[%d,%d]}",
        i ? "," : "", i / 64, i % 64, 16 * i, 16 * i + 16
    printf "}"
  }' > "$place/header"
size=$(stat -c %s "$place/header")
{
  for shift in 0 8 16 24 32 40 48 56; do
    printf '%b' "\\x$(printf '%02x' $((size >> shift & 255)))"
  done
  cat "$place/header"
} > "$place/huggingface/model.safetensors"
truncate -s $((8 + size + 16 * tensors)) "$place/huggingface/model.safetensors"
# The experts of 13 layers: a few more chunks than tensors above.
./shardsmith sample "$place/torch_dist" --to torch_dist --pattern EEEEEEEEEEEEE --hidden 8 \
  --experts $((tensors / 26 + 250)) --expert-ffn 4 > /dev/null

timed() {
  local title=$1
  shift
  for _ in 1 2 3; do
    /usr/bin/time -f '%e %U %S %M' -o "$place/run" "$@" > /dev/null 2> "$place/errors"
    cat "$place/run"
  done | sort -n | head -1 | while read -r wall user sys memory; do
    printf '%-44s %6.2f s  %6.2f s processor  %5d MB\n' "$title" "$wall" \
      "$(awk -v a="$user" -v b="$sys" 'BEGIN { print a + b }')" $((memory / 1024))
  done
}

timed "$entries entries of .metadata" ./shardsmith inspect "$place/plain"
timed "$entries entries, names of Megatron" ./shardsmith inspect "$place/megatron"
timed "$tensors tensors of PyTorch" ./shardsmith inspect "$place/model.pt"
timed "$tensors tensors of PyTorch, listed" ./shardsmith inspect "$place/model.pt" --tensors
timed "$tensors tensors of safetensors" ./shardsmith inspect "$place/huggingface"
timed "$tensors tensors of safetensors, listed" ./shardsmith inspect "$place/huggingface" --tensors
timed "$tensors chunks of torch_dist" ./shardsmith inspect "$place/torch_dist"
