#!/usr/bin/env python3
"""Loads plain distributed checkpoints and rewritten Hugging Face folders and compares every bit with their source.

Usage: check_plain.py FOLDER

FOLDER holds FAMILY/source and what check_plain.sh made of it. Distributed checkpoints are loaded in both ways that PyTorch
has: into tensors of a model's shapes, and by its own converter to one file. Exits with 1 if anything differs.
"""

import json
import pathlib
import sys

import torch
import torch.distributed.checkpoint as dcp
from safetensors import safe_open
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save


def of_files(files):
    found = {}
    for file in files:
        with safe_open(file, framework="pt") as opened:
            found.update({name: opened.get_tensor(name) for name in opened.keys()})
    return found


def of_folder(folder):
    """Tensors of a folder, read as its index says if it has one."""
    listed = folder / "model.safetensors.index.json"
    if not listed.exists():
        return of_files(sorted(folder.glob("*.safetensors"))), 1
    weight_map = json.loads(listed.read_text())["weight_map"]
    files = sorted(set(weight_map.values()))
    for file in files:
        with safe_open(folder / file, framework="pt") as opened:
            named = {name for name, where in weight_map.items() if where == file}
            assert set(opened.keys()) == named, (folder, file, set(opened.keys()) ^ named)
    assert sorted(path.name for path in folder.glob("*.safetensors")) == files, folder
    return of_files(folder / file for file in files), len(files)


def of_dcp(folder, wanted):
    """Tensors of a distributed checkpoint, loaded into a state dict of the shapes of the source."""
    loaded = {name: torch.empty_like(tensor) for name, tensor in wanted.items()}
    dcp.load(loaded, storage_reader=dcp.FileSystemReader(folder))
    names = set(dcp.FileSystemReader(folder).read_metadata().state_dict_metadata)
    assert names == set(wanted), (folder, names ^ set(wanted))
    return loaded


def of_pt(file):
    return dict(torch.load(file, weights_only=True))


def saved_whole(folder):
    dcp_to_torch_save(folder, folder.with_suffix(".whole"))
    return of_pt(folder.with_suffix(".whole"))


def compare(where, found, wanted):
    assert set(found) == set(wanted), (where, set(found) ^ set(wanted))
    for name, tensor in wanted.items():
        other = found[name]
        assert other.dtype == tensor.dtype and other.shape == tensor.shape, (where, name, other.dtype, other.shape)
        same = torch.equal(other.contiguous().flatten().view(torch.uint8), tensor.contiguous().flatten().view(torch.uint8))
        assert same, (where, name)


def main():
    families = sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_dir())
    assert families
    for family in families:
        wanted, before = of_folder(family / "source")
        rewritten, after = of_folder(family / "rewritten")
        compare(family / "rewritten", rewritten, wanted)
        for name in ("dcp", "dcp_of_pt"):
            compare(family / name, of_dcp(family / name, wanted), wanted)
            compare(family / name, saved_whole(family / name), wanted)
        compare(family / "state.pt", of_pt(family / "state.pt"), wanted)
        compare(family / "back.safetensors", of_files([family / "back.safetensors"]), wanted)
        parts = len(list((family / "dcp_of_pt").glob("*.distcp")))
        print(f"{family.name}: {len(wanted)} tensors equal, {before} files rewritten as {after}, {parts} files of a distributed checkpoint")


main()
