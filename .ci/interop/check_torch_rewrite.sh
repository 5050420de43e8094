#!/usr/bin/env bash
# Rewrites the golden archives and streams of PyTorch into the folder given, for check_torch_rewrite.py to load.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
classes=formats/target/classes:formats/target/test-classes:test-data/target/classes
repository=${HOME:?}/.m2/repository/com/fasterxml/jackson/core
for library in jackson-core jackson-databind jackson-annotations; do
  newest=$(find "$repository/$library" -name '*.jar' ! -name '*sources*' 2> /dev/null | sort -V | tail -n 1)
  classes=$classes:$newest
done
exec java -Dshardsmith.root="$PWD" -cp "$classes" dev.shardsmith.formats.torch.RewriteFixtures "$1"
