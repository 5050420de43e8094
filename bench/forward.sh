#!/usr/bin/env bash
# Times the forward check of a layer of 8 billion parameters and shows where the time of its scan goes.
#
#   bench/forward.sh [TOKENS]   2048 if not given; needs 8 GiB of memory and a JDK
#
# The machine's multiply-add peak is measured in the same run, with Java's Vector API (an incubating module, which
# the product itself does not use). Rates are per second of processor time, times the number of processors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tokens=${1:-2048}
[ -d verify/target/test-classes ] && [ -d converter/target/lib ] || ./mvnw -q -Dfast -DskipTests package
classes=verify/target/test-classes:verify/target/classes:reshard/target/classes:formats/target/classes
classes+=:test-data/target/classes:converter/target/lib/*

peak=$(java --add-modules jdk.incubator.vector bench/MultiplyAddPeak.java 2> /dev/null)
echo "float multiply-adds: $peak GFLOP/s at most on $(nproc) processors"
echo
java -Xmx2g -cp "$classes" dev.shardsmith.verify.forward.ScanBenchmark "$tokens" "$peak"
echo
java -Xmx8g -cp "$classes" dev.shardsmith.verify.check.LayerBenchmark "$tokens" 2
