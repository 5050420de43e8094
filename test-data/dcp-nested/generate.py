#!/usr/bin/env python3
"""Makes source.pt, a state dict with keys that are no strings, and ckpt, what PyTorch's distributed checkpoint saves of it.

Usage: generate.py FOLDER, with PyTorch 2.6.
"""

import sys

import torch
import torch.distributed.checkpoint as dcp


def filled(value):
    return torch.full((2,), float(value))


folder = sys.argv[1]
state = {
    "state": {0: {"exp_avg": filled(1)}, 1: {"exp_avg": filled(2)}, -3: filled(3), "yes": filled(4)},
    "mixed": {
        "a": [filled(5), {7: filled(6)}],
        None: filled(7),
        2.5: filled(8),
        False: filled(9),
        (1, "x"): filled(10),
        "0.5": filled(11),
    },
    10: filled(12),
    -1: {"k": filled(13)},
}
torch.save(state, folder + "/source.pt")
dcp.save(state, checkpoint_id=folder + "/ckpt")
