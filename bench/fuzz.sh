#!/usr/bin/env bash
# Searches for inputs that make a reader fail with anything but its own error, run out of 256 MB, or take over a second.
#
#   bench/fuzz.sh SECONDS [PROCESSES [FOLDER [TARGET...]]]
#
# PROCESSES fuzzers run side by side, one for each core unless said otherwise, and share the targets among them. Each keeps the
# inputs it finds in FOLDER (build/fuzz) and starts from those there and from the ones of the normal build. TARGET is a test
# class, #, and its method; one given twice gets twice the fuzzers. FUZZ_CLASSPATH, if set, is used instead of building.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:?how many seconds?}
processes=${2:-$(nproc)}
folder=${3:-build/fuzz}
package=dev.shardsmith.formats
targets=("${@:4}")
if [ ${#targets[@]} = 0 ]; then
  targets=(torch.TorchFuzzTest#{pickle,object,archive,stream,scan} dcp.DcpFuzzTest#anyMetadataGivesEntriesOrOneError
    safetensors.SafetensorsFuzzTest#anyHeaderGivesTensorsOrOneError)
fi
java=${JAVA_HOME:+$JAVA_HOME/bin/}java

if [ -z "${FUZZ_CLASSPATH:-}" ]; then
  ./mvnw -B -q -Dfast -pl formats -am test-compile dependency:build-classpath -Dmdep.outputFile=target/fuzz.classpath
  FUZZ_CLASSPATH=formats/target/classes:formats/target/test-classes:$(cat formats/target/fuzz.classpath)
fi

run() { # number, target
  local class=${2%#*} method=${2#*#} work end left
  work=$folder/$1-$method
  end=$((SECONDS + seconds))
  mkdir -p "$work/corpus" "$work/found"
  : > "$work/log"
  # Jazzer goes on after a finding; an input that takes half a minute or all memory ends it, so it is started again. Slow units
  # are told from one second on: the first may be, while Java loads classes.
  for _ in {1..20}; do
    left=$((end - SECONDS))
    ((left > 0)) || break
    "$java" -Xmx256m -XX:+UseSerialGC -cp "$FUZZ_CLASSPATH" com.code_intelligence.jazzer.Jazzer \
      --target_class="$package.$class" --target_method="$method" --instrumentation_includes="$package.**" \
      --keep_going=20 --reproducer_path="$work/found" -artifact_prefix="$work/found/" -max_total_time="$left" \
      -timeout=30 -report_slow_units=1 -max_len=4096 -reload=0 -print_final_stats=1 -seed="$1" \
      "$work/corpus" "formats/src/test/resources/${package//.//}/${class//.//}Inputs/$method" >> "$work/log" 2>&1 || true
  done
}

for ((i = 0; i < processes; i++)); do
  run "$i" "${targets[i % ${#targets[@]}]}" &
done
wait

printf '%-40s %12s %10s %12s\n' target executions findings 'slowest [s]'
total=0
for target in $(printf '%s\n' "${targets[@]}" | awk '!seen[$0]++'); do
  method=${target#*#}
  read -r runs slowest < <(cat "$folder"/*-"$method"/log | awk '
    /^stat::number_of_executed_units:/ { n += $2 } /^stat::slowest_unit_time_sec:/ && $2 > s { s = $2 } END { print n + 0, s + 0 }')
  findings=$(find "$folder"/*-"$method"/found -type f ! -name 'slow-unit-*' | wc -l)
  printf '%-40s %12d %10d %12d\n' "$target" "$runs" "$findings" "$slowest"
  total=$((total + runs))
done
printf '%-40s %12d\n' total "$total"
