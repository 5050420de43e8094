#!/usr/bin/env python3
"""Loads converted optimizer states with torch.distributed.checkpoint and compares them with what Megatron-LM saved.

Usage: check_optimizer.py FOLDER

FOLDER holds CASE/expected.json and CASE/SIZES/, made by check_optimizer.sh. Every checkpoint has to have the very tensors of
the one that Megatron-LM wrote, of the model and of the optimizer, under the same keys: type, shape and SHA-256. Groups of
parameters and steps in the common state have to be there. Exits with 1 if anything differs.
"""

import hashlib
import io
import json
import pathlib
import sys
import warnings

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.metadata import TensorStorageMetadata


warnings.filterwarnings("ignore")


def facts(tensor):
    flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    return {"dtype": str(tensor.dtype), "shape": list(tensor.shape),
            "sha256": hashlib.sha256(flat.numpy().tobytes()).hexdigest()}


def common(folder, metadata):
    if (folder / "common.pt").exists():
        return torch.load(folder / "common.pt", weights_only=False)
    place = next(info for index, info in metadata.storage_data.items() if index.fqn == "common_state/shard_0_1")
    data = (folder / place.relative_path).read_bytes()
    return torch.load(io.BytesIO(data[place.offset:place.offset + place.length]), weights_only=False)[0]


def problems(folder, expected):
    metadata = dcp.FileSystemReader(folder).read_metadata()
    tensors = {
        name: torch.empty(list(entry.size), dtype=entry.properties.dtype)
        for name, entry in metadata.state_dict_metadata.items()
        if isinstance(entry, TensorStorageMetadata)}
    dcp.load(tensors, storage_reader=dcp.FileSystemReader(folder))
    if set(tensors) != set(expected["tensors"]):
        yield "keys: %s" % sorted(set(tensors) ^ set(expected["tensors"]))
    for name, tensor in tensors.items():
        want = expected["tensors"].get(name, {})
        for fact, value in facts(tensor).items():
            if value != want.get(fact):
                yield "%s: %s is %s, expected %s" % (name, fact, value, want.get(fact))
    inner = common(folder, metadata)["optimizer"]["optimizer"]
    groups = inner["param_groups"]
    steps = [group["step"] for group in groups if "step" in group] or [inner["state"]["common_step"].item()]
    if len(groups) != 2 or any(step != 12 for step in steps) or groups[0]["betas"] != (0.9, 0.999):
        yield "the common state has %s, steps %s" % (groups, steps)


def main():
    loads = bad = states = 0
    for file in sorted(pathlib.Path(sys.argv[1]).glob("*/expected.json")):
        expected = json.loads(file.read_text())
        states += sum(name.startswith("optimizer.") for name in expected["tensors"])
        for folder in sorted(file.parent.glob("*/iter_*")):
            found = list(problems(folder, expected))
            for problem in found:
                print("%s: %s" % (folder, problem))
            loads += 1
            bad += bool(found)
    print("PyTorch loaded %d checkpoints with an optimizer's state, %d tensors of it a case, %d bad" % (loads, states / 2, bad))
    return 1 if bad or not loads or not states else 0


if __name__ == "__main__":
    sys.exit(main())
