#!/usr/bin/env bash
# Puts a real PyTorch for the CPU, with its distributed checkpoints, and safetensors into a folder of their own.
#
# They are Debian's packages of the release "trixie", in a minimal system that is entered with chroot, so that nothing
# of this machine changes. Needs root, 2 GB of disk and about four minutes the first time; afterwards it does nothing.
# Usage: real-pytorch.sh FOLDER
set -euo pipefail
folder=${1:?usage: real-pytorch.sh FOLDER}
release=trixie
packages=(python3-torch python3-safetensors python3-einops)

report() {
  chroot "$folder" python3 -c '
import safetensors, torch
import torch.distributed.checkpoint
print("PyTorch", torch.__version__, "and safetensors", safetensors.__version__)' 2> /dev/null
}

if [ -x "$folder/usr/bin/python3" ] && report; then exit 0; fi
if [ "$(id -u)" -ne 0 ]; then
  echo 'chroot needs root'
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
if ! command -v debootstrap > /dev/null; then
  apt-get update -qq
  apt-get install -y -qq debootstrap
fi
if [ ! -e "$folder/complete" ]; then
  # A half-made system is of no use; begin again. Any other folder with files in it is somebody else's.
  if [ -d "$folder/debootstrap" ]; then rm -rf "$folder"; fi
  if [ -n "$(ls -A "$folder" 2> /dev/null)" ]; then
    echo "$folder is not empty"
    exit 1
  fi
  mkdir -p "$folder"
  debootstrap --variant=minbase "$release" "$folder"
  touch "$folder/complete"
fi
chroot "$folder" apt-get update -qq
chroot "$folder" apt-get install -y -qq --no-install-recommends "${packages[@]}"
report
