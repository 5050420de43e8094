"""Loads what WriteInteropSamples wrote with torch.distributed.checkpoint and safetensors and compares every tensor."""

import hashlib
import io
import json
import os
import sys

import torch
import torch.distributed.checkpoint as dcp
from safetensors import safe_open
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
from torch.distributed.checkpoint.metadata import BytesStorageMetadata, TensorStorageMetadata

folder = sys.argv[1]
expected = {}
with open(os.path.join(folder, "expected.txt")) as lines:
    for line in lines:
        where, name, dtype, shape, digest = line.rstrip("\n").split("\t")
        expected.setdefault(where, {})[name] = (dtype, json.loads(shape), digest)


def describe(tensor):
    raw = bytes(tensor.detach().contiguous().flatten().view(torch.uint8).tolist()) if tensor.numel() else b""
    return str(tensor.dtype).split(".")[1], list(tensor.shape), hashlib.sha256(raw).hexdigest()


def compare(where, tensors):
    assert sorted(tensors) == sorted(expected[where]), (where, sorted(tensors))
    for name, tensor in tensors.items():
        assert describe(tensor) == expected[where][name], (where, name, describe(tensor), expected[where][name])
    print(f"{where}: {len(tensors)} tensors equal")


def flatten(node, prefix=""):
    found = {}
    for key, value in node.items():
        if isinstance(value, dict):
            found.update(flatten(value, prefix + key + "."))
        else:
            found[prefix + key] = value
    return found


# PyTorch's own converter rebuilds the nesting from planner_data and reads every item, objects too.
merged = os.path.join(folder, "merged.pt")
dcp_to_torch_save(os.path.join(folder, "dcp"), merged)
state = torch.load(merged, weights_only=True)
extra = state.pop("extra")
assert extra["iteration"] == 100 and extra["rng"].tolist() == [1, 2, 3, 4, 5], extra
compare("dcp", flatten(state))

# Megatron's form: no nesting; load into tensors of the right shapes, as a model would.
path = os.path.join(folder, "torch_dist")
reader = dcp.FileSystemReader(path)
metadata = reader.read_metadata()
tensors = {
    name: torch.empty(list(entry.size), dtype=entry.properties.dtype)
    for name, entry in metadata.state_dict_metadata.items()
    if isinstance(entry, TensorStorageMetadata)
}
dcp.load(tensors, storage_reader=dcp.FileSystemReader(path))
compare("torch_dist", tensors)
objects = [name for name, entry in metadata.state_dict_metadata.items() if isinstance(entry, BytesStorageMetadata)]
assert objects == ["common_state/shard_0_1"], objects
place = next(info for index, info in metadata.storage_data.items() if index.fqn == objects[0])
with open(os.path.join(path, place.relative_path), "rb") as data:
    data.seek(place.offset)
    common = torch.load(io.BytesIO(data.read(place.length)), weights_only=True)
assert isinstance(common, list) and common[0]["iteration"] == 100 and common[0]["rng"].tolist() == [1, 2, 3, 4, 5]
assert torch.load(os.path.join(path, "common.pt"), weights_only=True)["iteration"] == 100
with open(os.path.join(path, "metadata.json")) as text:
    assert json.load(text)["sharded_backend"] == "torch_dist"


def safetensors_of(files):
    found = {}
    for file in files:
        with safe_open(file, framework="pt") as opened:
            assert opened.metadata() == {"format": "pt"}, opened.metadata()
            found.update({name: opened.get_tensor(name) for name in opened.keys()})
    return found


compare("safetensors", safetensors_of([os.path.join(folder, "safetensors", "model.safetensors")]))
sharded = os.path.join(folder, "safetensors_sharded")
with open(os.path.join(sharded, "model.safetensors.index.json")) as text:
    index = json.load(text)
compare("safetensors_sharded", safetensors_of(sorted({os.path.join(sharded, f) for f in index["weight_map"].values()})))
assert sorted(index["weight_map"]) == sorted(expected["safetensors_sharded"])
