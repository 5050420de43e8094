#!/usr/bin/env python3
"""Loads converted checkpoints with real PyTorch and compares them with what Megatron-LM itself wrote for that layout.

Usage: check_convert.py FOLDER

FOLDER holds CASE/expected.json and CASE/SOURCE-TARGET/, made by check_convert.sh. Every rank file has to have the tensors of
the file that Megatron-LM wrote for TARGET: order of keys, type, shape and SHA-256. Exits with 1 if anything differs.
"""

import hashlib
import json
import pathlib
import pickle
import sys
import types

import torch


class StandIns(pickle.Unpickler):
    """Makes up the classes of Megatron-LM, which is not installed here."""

    def find_class(self, module, name):
        try:
            return super().find_class(module, name)
        except (ImportError, AttributeError):
            return type(name, (), {"__module__": module, "__init__": lambda self, *args: None})


def module():
    made = types.ModuleType("stand_ins")
    made.Unpickler = StandIns
    made.load = pickle.load
    made.loads = pickle.loads
    return made


def digest(tensor):
    flat = tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1)
    return hashlib.sha256(flat.view(torch.uint8).numpy().tobytes()).hexdigest()


def problems(found, expected):
    wanted = expected["model"]
    order = [key for key in expected["key_order"] if key in found or not key.endswith("_extra_state")]
    if list(found) != order:
        yield "keys are %s, expected %s" % (list(found), order)
        return
    for name, tensor in found.items():
        want = wanted.get(name)
        if not isinstance(tensor, torch.Tensor) or not isinstance(want, dict) or "sha256" not in want:
            continue
        facts = {"dtype": str(tensor.dtype), "shape": list(tensor.shape), "sha256": digest(tensor)}
        for fact, value in facts.items():
            if value != want[fact]:
                yield "%s: %s is %s, expected %s" % (name, fact, value, want[fact])
        if tensor.untyped_storage().nbytes() != tensor.numel() * tensor.element_size():
            yield "%s: its storage is larger than the tensor" % name


def main():
    files = bad = 0
    root = pathlib.Path(sys.argv[1])
    for expected_file in sorted(root.glob("*/expected.json")):
        checkpoints = json.loads(expected_file.read_text())["checkpoints"]
        for path in sorted(expected_file.parent.glob("*/iter_*/*/model_optim_rng.pt")):
            conversion, *rest = path.relative_to(expected_file.parent).parts
            target = "/".join([conversion.split("-")[1], *rest])
            content = torch.load(path, map_location="cpu", weights_only=False, pickle_module=module())
            found = list(problems(content["model"], checkpoints[target]))
            sizes = conversion.split("-")[1]
            args = content["args"]
            if "tp%dpp%d" % (args.tensor_model_parallel_size, args.pipeline_model_parallel_size) != sizes:
                found.append("the saved arguments have other sizes")
            for problem in found:
                print("%s/%s: %s" % (expected_file.parent.name, path.relative_to(expected_file.parent), problem))
            files += 1
            bad += bool(found)
    print("%d rank files, %d bad" % (files, bad))
    return 1 if bad or not files else 0


if __name__ == "__main__":
    sys.exit(main())
