#!/usr/bin/env python3
"""Makes large pickles as checkpoints have them, and times CPython's unpickler on them with stand-in classes.

Usage: unpickle.py make FOLDER [MEGABYTES]    writes optimizer.pkl, metadata.pkl and scalars.pkl
       unpickle.py time FILE...               prints the least processor time and wall time of three readings, in seconds
"""

import collections
import gc
import io
import pathlib
import pickle
import random
import sys
import time
import types

DCP = "torch.distributed.checkpoint"


def stand_in(module, name, value):
    """Makes something importable as module.name."""
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        path = ".".join(parts[:end])
        if path not in sys.modules:
            sys.modules[path] = types.ModuleType(path)
    setattr(sys.modules[module], name, value)
    value.__module__, value.__qualname__ = module, name
    return value


def rebuild(*args):
    return args


class Plain:
    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __hash__(self):
        return id(self)


REBUILD = stand_in("torch._utils", "_rebuild_tensor_v2", rebuild)
FLOAT = stand_in("torch", "FloatStorage", type("FloatStorage", (), {}))
FLOAT32 = stand_in("torch", "float32", type("float32", (), {}))
SIZE = stand_in("torch", "Size", type("Size", (tuple,), {"__reduce__": lambda self: (SIZE, (tuple(self),))}))
NAMES = ["Metadata", "TensorStorageMetadata", "ChunkStorageMetadata", "TensorProperties", "MetadataIndex"]
CLASSES = {name: stand_in(DCP + ".metadata", name, type(name, (Plain,), {})) for name in NAMES}
INFO = stand_in(DCP + ".filesystem", "_StorageInfo", type("_StorageInfo", (Plain,), {}))


class Tensor:
    """Pickled as torch.save does, with its storage outside."""

    def __init__(self, key, *shape):
        self.key, self.shape = key, shape

    def __reduce__(self):
        strides = tuple(reversed([1] + list(self.shape[:0:-1]))) if self.shape else ()
        return REBUILD, (Storage(self.key), 0, self.shape, strides, False, collections.OrderedDict())


class Storage:
    def __init__(self, key):
        self.key = key


class Saver(pickle.Pickler):
    def persistent_id(self, value):
        return ("storage", FLOAT, str(value.key), "cpu", 4096) if isinstance(value, Storage) else None


class Loader(pickle.Unpickler):
    def persistent_load(self, pid):
        return pid


def optimizer(count):
    """The state of an optimizer with three tensors for each parameter; protocol 2."""
    return {"state": {i: {"step": Tensor(3 * i), "exp_avg": Tensor(3 * i + 1, 64, 64), "exp_avg_sq": Tensor(3 * i + 2, 64, 64)}
                      for i in range(count)},
            "param_groups": [{"lr": 1e-4, "betas": (0.9, 0.95), "params": list(range(count))}]}


def metadata(count):
    """What a distributed checkpoint says of its tensors and files."""
    tensors, data = {}, {}
    for i in range(count):
        name = "decoder.layers.%d.mixer.in_proj.weight_%d" % (i % 96, i)
        chunks = [CLASSES["ChunkStorageMetadata"](offsets=SIZE((1024 * j, 0)), sizes=SIZE((1024, 4096))) for j in range(2)]
        tensors[name] = CLASSES["TensorStorageMetadata"](
            properties=CLASSES["TensorProperties"](dtype=FLOAT32, requires_grad=False), size=SIZE((2048, 4096)), chunks=chunks)
        for j in range(2):
            index = CLASSES["MetadataIndex"](fqn=name, offset=SIZE((1024 * j, 0)), index=j)
            data[index] = INFO(relative_path="__%d_0.distcp" % (i % 64), offset=i * 8389888, length=8389888)
    return CLASSES["Metadata"](state_dict_metadata=tensors, planner_data=None, storage_data=data)


def scalars(count):
    """Numbers and words of all sizes."""
    random.seed(1)
    return [{"loss": random.random(), "step": i, "tokens": i * 4194304, "seed": random.getrandbits(100), "note": "sample-%d" % i,
             "norms": [random.gauss(0, 1) for _ in range(8)]} for i in range(count)]


def make(folder, megabytes):
    for name, build, protocol, each in (("optimizer", optimizer, 2, 244), ("metadata", metadata, 4, 386), ("scalars", scalars, 2, 158)):
        with open(folder / (name + ".pkl"), "wb") as file:
            Saver(file, protocol).dump(build(megabytes * 1_000_000 // each))


def least_times(path):
    data = path.read_bytes()
    best = [float("inf")] * 2
    for _ in range(3):
        gc.collect()
        start = time.process_time(), time.perf_counter()
        graph = Loader(io.BytesIO(data)).load()
        best = [min(best[0], time.process_time() - start[0]), min(best[1], time.perf_counter() - start[1])]
        del graph
    return best


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(pathlib.Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 50)
    else:
        for argument in sys.argv[2:]:
            path = pathlib.Path(argument)
            print("%s %.3f %.3f" % ((path.stem,) + tuple(least_times(path))))
