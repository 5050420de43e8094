"""Writes pairs of small files that differ in what the elements of plain tensors do not tell. PyTorch 2.6."""

import numpy
import torch

ONES = torch.ones(4)
INDICES = torch.tensor([[0, 1], [0, 1]])
INTEGERS = torch.quantize_per_tensor(ONES, 0.1, 3, torch.qint8).int_repr()
CHANNELS = torch.quantize_per_channel(
    torch.ones(2, 3), torch.tensor([0.1, 0.2]), torch.tensor([0, 1]), 0, torch.quint8
)


def quantized(scale, zero_point):
    return {"q": torch._make_per_tensor_quantized_tensor(INTEGERS, scale, zero_point)}


def channels(*scales):
    return {
        "q": torch._make_per_channel_quantized_tensor(
            CHANNELS.int_repr(), torch.tensor(scales), torch.tensor([0, 1]), 0
        )
    }


def sparse(*shape):
    return {"s": torch.sparse_coo_tensor(INDICES, torch.ones(2), shape), "w": ONES}


FILES = {
    "int64": {"x": torch.tensor([2**63 - 1])},
    "float64": {"x": torch.tensor([2.0**63], dtype=torch.float64)},
    "quantized": quantized(0.1, 3),
    "quantized-other-scale": quantized(0.2, 3),
    "quantized-other-zero-point": quantized(0.1, 4),
    "channels": channels(0.1, 0.2),
    "channels-other-scale": channels(0.1, 0.3),
    "array": {"n": numpy.ones(3), "w": ONES},
    "array-other": {"n": numpy.zeros(3), "w": ONES},
    "sparse": sparse(2, 2),
    "sparse-other-shape": sparse(3, 3),
    "meta": {"m": torch.empty(2, device="meta"), "w": ONES},
    "meta-other-shape": {"m": torch.empty(5, device="meta"), "w": ONES},
    "value": {"s": 3},
    "value-other": {"s": 4},
}

for name, content in FILES.items():
    torch.save(content, name + ".pt")
