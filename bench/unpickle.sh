#!/usr/bin/env bash
# Times the reading of large pickles against CPython's unpickler, which is written in C, with stand-in classes.
#
#   bench/unpickle.sh [MEGABYTES]    size of each pickle, 50 if not given
#
# Least of three readings of CPython's and of five of ours, in seconds of processor time and of the clock; ours includes
# garbage collection and compiling. The first reading of a new Java is what a command does. Takes two minutes when nothing
# else runs.
# PYTHON is the interpreter to compare with, python3 if not set. UNPICKLE_CLASSPATH, if set, is used instead of building.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=${PYTHON:-python3}
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
place=$(mktemp -d "${TMPDIR:-/tmp}/shardsmith-bench.XXXXXX")
trap 'rm -rf "$place"' EXIT
if [ -z "${UNPICKLE_CLASSPATH:-}" ]; then
  ./mvnw -B -q -Dfast -pl formats -am test-compile
  UNPICKLE_CLASSPATH=formats/target/classes:formats/target/test-classes
fi

"$python" bench/unpickle.py make "$place" "${1:-50}"
"$python" --version
files=("$place/optimizer.pkl" "$place/metadata.pkl" "$place/scalars.pkl")
"$python" bench/unpickle.py time "${files[@]}" > "$place/theirs"
# One process for each file: a graph of one kind is what a command reads.
for file in "${files[@]}"; do
  "$java" -Xmx1g -XX:+UseSerialGC -cp "$UNPICKLE_CLASSPATH" dev.shardsmith.formats.pickle.UnpickleTimes "$file"
done > "$place/ours"
join --nocheck-order "$place/theirs" "$place/ours" | while read -r name cpu wall our_cpu our_wall first_cpu first_wall; do
  awk -v name="$name" -v mb="$(du -m "$place/$name.pkl" | cut -f1)" -v cpu="$cpu" -v wall="$wall" -v our_cpu="$our_cpu" \
    -v our_wall="$our_wall" -v first_cpu="$first_cpu" -v first_wall="$first_wall" 'BEGIN {
      printf "%-10s %3d MB  CPython %.2f s (%.2f s wall)\n", name, mb, cpu, wall
      printf "  first time %.2f s (%.2f s wall)  ratio %.2f (wall %.2f)\n", first_cpu, first_wall, first_cpu / cpu, first_wall / wall
      printf "  then       %.2f s (%.2f s wall)  ratio %.2f (wall %.2f)\n", our_cpu, our_wall, our_cpu / cpu, our_wall / wall }'
done
