#!/usr/bin/env python3
"""Loads a distributed checkpoint of a nested state dict into one of the same nesting, and compares every value.

Usage: check_nested.py FOLDER, with what check_nested.sh made there. Exits with 1 if anything differs.
"""

import pathlib
import sys

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint._nested_dict import flatten_state_dict


def emptied(value):
    if isinstance(value, dict):
        return {key: emptied(part) for key, part in value.items()}
    if isinstance(value, list):
        return [emptied(part) for part in value]
    return torch.full_like(value, -99)


folder = pathlib.Path(sys.argv[1])
source = torch.load(folder / "source.pt", weights_only=False)
wanted, _ = flatten_state_dict(source)
loaded = emptied(source)
dcp.load(loaded, storage_reader=dcp.FileSystemReader(folder / "dcp"))
found, _ = flatten_state_dict(loaded)
assert list(found) == list(wanted), set(found) ^ set(wanted)
names = set(dcp.FileSystemReader(folder / "dcp").read_metadata().state_dict_metadata)
assert names == set(wanted), names ^ set(wanted)
for name, tensor in wanted.items():
    assert torch.equal(found[name], tensor), name
# List items have brackets in the names of a flat file.
flat = torch.load(folder / "flat.pt", weights_only=True)
assert len(flat) == len(wanted)
for name, tensor in flat.items():
    assert torch.equal(tensor, wanted[name.replace("[", ".").replace("]", "")]), name
print(f"{len(wanted)} tensors of a nested state dict equal, their keys those of PyTorch")
