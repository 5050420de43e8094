#!/usr/bin/env bash
# All checks that need a card, in one folder that needs only Linux on x86-64, an NVIDIA driver and bash.
#
#   run-on-gpu.sh pack FOLDER       makes it here: a trimmed Java, the jars, the golden files (needs Maven and a JDK)
#   FOLDER/run-on-gpu.sh            runs it there: the tests tagged "gpu", the damaged conversions, then the timings
#   FOLDER/run-on-gpu.sh tests      only the tests
#   FOLDER/run-on-gpu.sh timings    only the timings
#   FOLDER/run-on-gpu.sh sanitize   a few of the tests under compute-sanitizer, where it is installed
#   FOLDER/run-on-gpu.sh model SCRATCH [RESULTS]
#                                   a hybrid model of 8 billion parameters (56 layers, bfloat16), written for 1 and for 8
#                                   ranks under SCRATCH (35 GB) and verified, the files not cached and cached; timelines go
#                                   to RESULTS. SAMPLE="--pattern … --hidden …" writes another model.
#
# Exit status 0 means that everything passed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

pack() {
    local folder=$1 root
    root=$(cd "$here/.." && pwd)
    mkdir -p "$folder/jars"
    folder=$(cd "$folder" && pwd)
    (cd "$root" && mvn ${MAVEN_OPTIONS:-} -q -Dfast -pl converter -am test-compile \
        dependency:build-classpath -DincludeScope=test -Dmdep.outputFile="$folder/classpath.txt")
    console=$(find "${MAVEN_REPOSITORY:-$HOME/.m2/repository}/org/junit/platform/junit-platform-console-standalone" \
        -name '*.jar' | sort -V | tail -n 1)
    tr ':' '\n' <"$folder/classpath.txt" | while read -r entry; do
        case $entry in
            *junit* | *opentest4j* | *apiguardian*) ;; # the console jar has its own
            *.jar) cp "$entry" "$folder/jars/" ;;
        esac
    done
    rm "$folder/classpath.txt"
    cp "$console" "$folder/jars/"
    rm -rf "$folder/classes" "$folder/java" "$folder/test-data"
    mkdir -p "$folder/classes" "$folder/test-data"
    for module in formats reshard verify gpu-check converter test-data; do
        cp -r "$root/$module/target/classes/." "$folder/classes/"
    done
    for module in verify gpu-check; do
        cp -r "$root/$module/target/test-classes/." "$folder/classes/"
    done
    cp -r "$root/test-data/ssd" "$folder/test-data/"
    jlink --add-modules java.base,java.logging,java.management,java.xml,jdk.random,jdk.unsupported --strip-debug --no-header-files \
        --no-man-pages --compress=2 --output "$folder/java"
    cp "${BASH_SOURCE[0]}" "$folder/"
    du -sh "$folder"
}

java_here() {
    local private
    private=$(mktemp -d)
    "$here/java/bin/java" -Xmx8g -Djava.io.tmpdir="$private" -Dshardsmith.root="$here" \
        -cp "$here/classes:$here/jars/*" "$@" || {
        local status=$?
        rm -rf "$private"
        return "$status"
    }
    rm -rf "$private"
}

tests() {
    java_here org.junit.platform.console.ConsoleLauncher execute --disable-banner --details=summary \
        --include-tag=gpu --select-package=dev.shardsmith.gpu
    # Every damaged conversion that the processor finds must be found on the card too, and nothing else.
    java_here -Dshardsmith.device=cuda org.junit.platform.console.ConsoleLauncher execute --disable-banner \
        --details=summary --select-package=dev.shardsmith.verify.check
}

# The command line as its launcher starts it.
shardsmith() {
    "$here/java/bin/java" -Xmx256m -XX:+UseSerialGC -Djava.io.tmpdir="$scratch" -cp "$here/classes:$here/jars/*" \
        dev.shardsmith.cli.Main --no-color --progress none "$@"
}

# 24 Mamba-2, 28 MLP and 4 attention layers of width 4096.
EIGHT_BILLION="--pattern M-M-M--M-M*-M-M-M-M--M*-M-M-M-M-M*--M-M-M-M-M*-M--M-M-M-
    --hidden 4096 --vocab 256000 --heads 32 --query-groups 8 --head-dim 128
    --mamba-heads 128 --mamba-head-dim 64 --mamba-groups 8 --mamba-state 128 --ffn 16384"

model() {
    scratch=${1:?a folder for 35 GB}
    local results=${2:-.} device=${DEVICE:-cuda} state
    mkdir -p "$scratch"
    # shellcheck disable=SC2086 # the options are words
    shardsmith sample "$scratch/tp1" ${SAMPLE:-$EIGHT_BILLION}
    shardsmith convert "$scratch/tp1" "$scratch/tp8" --tp 8
    du -sm "$scratch/tp1" "$scratch/tp8"
    for state in first cold warm; do
        if [ "$state" = cold ]; then
            sync
            # Files that are still cached would make the disk look faster than it is; only root can drop them.
            if ! echo 3 2>/dev/null >/proc/sys/vm/drop_caches; then
                echo "the page cache could not be dropped: what follows is warm too"
            fi
        fi
        echo "--- $state: $(grep -E '^Cached:' /proc/meminfo)"
        time shardsmith verify "$scratch/tp1" "$scratch/tp8" --device "$device" --timeline "$results/$state.svg" \
            >"$results/$state.txt" || { cat "$results/$state.txt"; return 1; }
        tail -n 2 "$results/$state.txt"
    done
    shardsmith verify "$scratch/tp1" "$scratch/tp8" --device "$device" --timeline "$results/json.svg" --json \
        >"$results/timeline.json"
}

sanitize() {
    local tool
    for tool in memcheck racecheck; do
        compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 5 \
            "$here/java/bin/java" -Xmx8g -Dshardsmith.root="$here" -cp "$here/classes:$here/jars/*" \
            org.junit.platform.console.ConsoleLauncher execute --disable-banner --details=summary \
            --select-class=dev.shardsmith.gpu.GpuSanitizedTest
    done
}

case ${1:-all} in
    pack) pack "${2:?a folder}" ;;
    tests) tests ;;
    timings) java_here dev.shardsmith.gpu.GpuTimings ;;
    sanitize) sanitize ;;
    model) model "${2:-}" "${3:-}" ;;
    all) tests && java_here dev.shardsmith.gpu.GpuTimings ;;
    *) sed -n '2,/^set/p' "${BASH_SOURCE[0]}" | sed -e '$d' -e 's/^# \{0,1\}//' >&2; exit 2 ;;
esac
