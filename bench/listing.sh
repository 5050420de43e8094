#!/usr/bin/env bash
# Times how checkpoints of very many tensors are opened and listed; the whole process, as a user starts it.
#
#   bench/listing.sh [ENTRIES [TENSORS]]    1,000,000 entries of .metadata and 100,000 tensors of a file, if not given
#
# Least of three runs each, in seconds of the clock and of processor time, with the most memory held, and what is allowed: with
# two free processors 6 s and 2 GiB for a million entries, 1.5 s for a hundred thousand tensors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

entries=${1:-1000000}
tensors=${2:-100000}
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
place=$(mktemp -d "${TMPDIR:-/tmp}/shardsmith-bench.XXXXXX")
trap 'rm -rf "$place"' EXIT
./mvnw -B -q -Dfast -pl formats -am test-compile

for names in plain megatron stacked; do
  mkdir "$place/$names"
  "$java" -Xmx2g -XX:+UseSerialGC -cp formats/target/classes:formats/target/test-classes \
    dev.shardsmith.formats.dcp.LargeMetadata "$place/$names" "$entries" "$names"
done
"$java" -Xmx1g -XX:+UseSerialGC -cp formats/target/classes:formats/target/test-classes \
  dev.shardsmith.formats.torch.LargeStateDict "$place/model.pt" "$tensors"
# safetensors FILE FROM TO: experts of 2 x 4 elements, all of them holes
safetensors() {
  awk -v from="$2" -v to="$3" 'BEGIN {
      printf "{"
      for (i = from; i < to; i++)
        printf "%s\"model.layers.%d.mlp.experts.%d.weight\":{\"dtype\":\"BF16\",\"shape\":[2,4],\"data_offsets\":[%d,%d]}",
          (i > from ? "," : ""), i / 64, i % 64, 16 * (i - from), 16 * (i - from) + 16
      printf "}"
    }' > "$place/header"
  size=$(stat -c %s "$place/header")
  {
    for shift in 0 8 16 24 32 40 48 56; do
      printf '%b' "\\x$(printf '%02x' $((size >> shift & 255)))"
    done
    cat "$place/header"
  } > "$1"
  truncate -s $((8 + size + 16 * ($3 - $2))) "$1"
}
mkdir "$place/huggingface" "$place/sharded"
echo '{"model_type": "unknown"}' | tee "$place/huggingface/config.json" > "$place/sharded/config.json"
safetensors "$place/huggingface/model.safetensors" 0 "$tensors"
for shard in 1 2 3 4 5 6 7 8; do
  safetensors "$place/sharded/model-0000$shard-of-00008.safetensors" \
    $(((shard - 1) * tensors / 8)) $((shard * tensors / 8))
done
awk -v count="$tensors" 'BEGIN {
    printf "{\"metadata\": {\"total_size\": %d}, \"weight_map\": {", 16 * count
    for (shard = 1; shard <= 8; shard++)
      for (i = int((shard - 1) * count / 8); i < int(shard * count / 8); i++)
        printf "%s\"model.layers.%d.mlp.experts.%d.weight\": \"model-0000%d-of-00008.safetensors\"",
          i ? ", " : "", i / 64, i % 64, shard
    printf "}}"
  }' > "$place/sharded/model.safetensors.index.json"
# The experts of 13 layers: a few more chunks than tensors above.
SHARDSMITH_JAVA_OPTS=-Xmx1g ./shardsmith sample "$place/torch_dist" --to torch_dist --pattern EEEEEEEEEEEEE --hidden 8 \
  --experts $((tensors / 26 + 250)) --expert-ffn 4 > /dev/null

# timed ALLOWED TITLE COMMAND...
timed() {
  local allowed=$1 title=$2
  shift 2
  for _ in 1 2 3; do
    /usr/bin/time -f '%e %U %S %M' -o "$place/run" "$@" > /dev/null 2> "$place/errors"
    cat "$place/run"
  done | sort -n | head -1 | while read -r wall user sys memory; do
    printf '%-44s %6.2f s  %6.2f s processor  %5d MiB  allowed %s\n' "$title" "$wall" \
      "$(awk -v a="$user" -v b="$sys" 'BEGIN { print a + b }')" $((memory / 1024)) "$allowed"
  done
}

timed '6 s, 2 GiB' "$entries entries of .metadata" ./shardsmith inspect "$place/plain"
timed '6 s, 2 GiB' "$entries entries, names of Megatron" ./shardsmith inspect "$place/megatron"
timed '6 s, 2 GiB' "$entries chunks of few tensors" ./shardsmith inspect "$place/stacked"
timed '1.5 s' "$tensors tensors of safetensors" ./shardsmith inspect "$place/huggingface"
timed '1.5 s' "$tensors tensors of safetensors, 8 shards" ./shardsmith inspect "$place/sharded"
timed '1.5 s' "$tensors tensors of safetensors, listed" ./shardsmith inspect "$place/huggingface" --tensors
timed '1.5 s' "$tensors tensors of PyTorch" ./shardsmith inspect "$place/model.pt"
timed '1.5 s' "$tensors tensors of PyTorch, listed" ./shardsmith inspect "$place/model.pt" --tensors
timed '1.5 s' "$tensors chunks of torch_dist" ./shardsmith inspect "$place/torch_dist"
