#!/usr/bin/env python3
"""Times what PyTorch needs to load a checkpoint of one rank and to save it as eight, without any rule of a model.

Usage: pytorch_copy.py CHECKPOINT

Every tensor with rows divisible by 8 is cut along its rows and the others are copied, so this is less work than a right
conversion; it bounds from below what a converter in PyTorch can reach.
"""

import pathlib
import sys
import time
import types

import pickle
import torch


class StandIns(pickle.Unpickler):
    def find_class(self, module, name):
        try:
            return super().find_class(module, name)
        except (ImportError, AttributeError):
            return type(name, (), {"__module__": module, "__init__": lambda self, *args: None})


def main():
    module = types.ModuleType("stand_ins")
    module.Unpickler, module.load, module.loads = StandIns, pickle.load, pickle.loads
    root = pathlib.Path(sys.argv[1])
    start = time.monotonic()
    for path in root.glob("iter_*/*/model_optim_rng.pt"):
        model = torch.load(path, map_location="cpu", weights_only=False, pickle_module=module)["model"]
        tensors = {name: value for name, value in model.items() if isinstance(value, torch.Tensor)}
        for rank in range(8):
            part = {
                name: value.chunk(8)[rank].clone() if value.dim() and value.shape[0] % 8 == 0 else value
                for name, value in tensors.items()
            }
            torch.save({"model": part}, root.parent / ("pytorch_%d.pt" % rank))
    print("PyTorch %s, load and save as 8: %.2f s" % (torch.__version__, time.monotonic() - start))


if __name__ == "__main__":
    main()
