#!/usr/bin/env bash
# Writes distributed checkpoints and safetensors files into the folder given, for check_dcp_safetensors.py to load.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
exec java -cp "formats/target/classes:formats/target/test-classes:converter/target/lib/*" \
  dev.shardsmith.formats.dcp.WriteInteropSamples "$1"
