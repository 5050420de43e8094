#!/usr/bin/env bash
# Compiles src/main/cuda to the PTX that the jar carries, and writes the hash of the sources beside it.
# Needs nvcc and ptxas 13.0 (another version makes other PTX: then commit both and say so).
#
#   compute_80  runs on every card from Ampere on. PTX ISA 7.8: driver 520 or newer.
#   sm_90a      Hopper's own warpgroup instructions. PTX ISA 8.0: driver 525 or newer. Also as machine code, which a driver
#               of CUDA 13.0 (580) or newer loads without compiling for seconds.
#
# nvcc writes its own newest PTX version into the file, which older drivers refuse although nothing in the code needs it;
# the version is set back and ptxas, which rejects what a version lacks, checks that this is true.
set -euo pipefail
cd "$(dirname "$0")"
source_folder=src/main/cuda
target=src/main/resources/dev/shardsmith/gpu
mkdir -p "$target"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

build() {
    local name=$1 architecture=$2 real=$3 version=$4
    nvcc -std=c++17 -O3 -ptx -arch="$architecture" -o "$scratch/$name.ptx" "$source_folder/kernels.cu"
    sed -e "s/^\.version .*/.version $version/" -e '/^\/\//d' "$scratch/$name.ptx" >"$target/$name.ptx"
    ptxas -v -arch="$real" -o "$scratch/$name.cubin" "$target/$name.ptx" 2>"$scratch/$name.log" || {
        cat "$scratch/$name.log" >&2
        return 1
    }
    grep -E 'C75|Compiling entry|spill|Used' "$scratch/$name.log" | sed -e 's/ptxas info *: *//'
}

build kernels-compute80 compute_80 sm_80 7.8
build kernels-sm90a compute_90a sm_90a 8.0
cp "$scratch/kernels-sm90a.cubin" "$target/"
# Names and contents, in the order of names, sources first: what KernelSourceTest computes again.
hashes() {
    (cd "$1" && LC_ALL=C ls | grep -v sha256 | while read -r file; do
        printf '%s  %s\n' "$(sha256sum <"$file" | cut -d' ' -f1)" "$file"
    done)
}
{ hashes "$source_folder"; hashes "$target"; } >"$scratch/kernels.sha256"
mv "$scratch/kernels.sha256" "$target/"
