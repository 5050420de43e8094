#!/usr/bin/env python3
"""Loads archives that Shardsmith has rewritten with real PyTorch and compares every tensor.

Usage: check_torch_rewrite.py FOLDER [--classes FOLDER]

FOLDER is what dev.shardsmith.formats.torch.RewriteFixtures wrote: GROUP/CASE/model.pt, each beside the
expected.json of the file it was made from. --classes is put on the module path, for the fixtures with classes
of their own; without it those are loaded with stand-in classes.

Each file is loaded three ways: plainly, with mmap=True, and, where the original allows it, with weights_only=True.
Exits with 1 if anything differs.
"""

import argparse
import hashlib
import json
import pathlib
import pickle
import sys
import types

import torch


class AnyClasses(pickle.Unpickler):
    """Makes up classes that cannot be imported."""

    def find_class(self, module, name):
        try:
            return super().find_class(module, name)
        except (ImportError, AttributeError):
            return type(name, (), {"__module__": module, "__init__": lambda self, *args: None})


MODULE = types.ModuleType("any_classes")
MODULE.Unpickler = AnyClasses
MODULE.load = pickle.load
MODULE.loads = pickle.loads


def elements(tensor):
    """SHA-256 of a tensor's elements in row-major order."""
    tensor = tensor.detach()
    if tensor.is_quantized:
        tensor = tensor.int_repr()
    tensor = tensor.cpu().resolve_conj().resolve_neg()
    if tensor.numel() == 0:
        return hashlib.sha256(b"").hexdigest()
    flat = tensor.clone(memory_format=torch.contiguous_format).reshape(-1)
    if tensor.dtype.is_complex:
        flat = torch.view_as_real(flat).contiguous()
    try:
        flat = flat.view(torch.uint8)
    except RuntimeError:
        count = flat.numel() * flat.element_size()
        flat = torch.frombuffer(bytearray(bytes(flat.untyped_storage())[:count]), dtype=torch.uint8)
    return hashlib.sha256(flat.reshape(-1).numpy().tobytes()).hexdigest()


def walk(value, path, found, seen):
    """Puts every tensor into found under the name that expected.json gives it."""
    if isinstance(value, torch.Tensor):
        for part in ("indices", "values") if value.layout == torch.sparse_coo else ():
            walk(getattr(value.detach(), "_" + part)(), path + "#" + part, found, seen)
        for part in ("crow_indices", "col_indices", "ccol_indices", "row_indices", "values"):
            if value.layout not in (torch.strided, torch.sparse_coo):
                try:
                    walk(getattr(value.detach(), part)(), path + "#" + part, found, seen)
                except RuntimeError:
                    pass
        for key, attribute in getattr(value, "__dict__", {}).items():
            walk(attribute, path + "@" + str(key), found, seen)
        found[path] = value
        return
    if id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, dict):
        for key, item in value.items():
            text = key if isinstance(key, str) else "<%s>" % (key,)
            walk(item, path + "." + text if path else text, found, seen)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            walk(item, "%s[%d]" % (path, index), found, seen)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        for key, item in vars(value).items():
            walk(item, path + "." + key if path else key, found, seen)


def compare(loaded, expected):
    """Differences between what PyTorch loaded and what expected.json says."""
    found = {}
    walk(loaded, "", found, {})
    for want in expected["tensors"]:
        tensor = found.get(want["name"])
        if tensor is None:
            yield "%s is missing" % want["name"]
            continue
        facts = {"dtype": str(tensor.dtype), "shape": list(tensor.shape)}
        if "stride" in want:
            facts["stride"] = list(tensor.stride())
            facts["storage_offset"] = tensor.storage_offset()
        if want.get("sha256"):
            facts["sha256"] = elements(tensor)
        for name, value in facts.items():
            if value != want[name]:
                yield "%s: %s is %s, expected %s" % (want["name"], name, value, want[name])


def fails_too(original, where, way, error):
    """True if this PyTorch refuses the file that PyTorch itself wrote in the same way: too old for it, or classes unknown."""
    options = {name: value for name, value in way.items() if name != "mmap"}
    try:
        torch.load(original, map_location=where, **options)
    except Exception as same:
        return type(same) is type(error)
    return False


def large(folder):
    """What is wrong with the archives of ten gibibytes, nearly all holes, and of seventy thousand records."""
    three = torch.load(folder / "three.pt", mmap=True, weights_only=True)
    facts = [list(tensor.shape) for tensor in three] + [three[1][-1, -8:].tolist(), three[2].tolist(), three[0][-1].item()]
    if facts != [[5 << 28], [5, 1 << 30], [4], list(range(1, 9)), [0, 0, 0, 3], 0]:
        yield "three.pt holds %s" % facts
    many = torch.load(folder / "many.pt", weights_only=True)
    facts = [len(many)] + [many["t%d" % i].tolist() for i in (0, 65535, 65536, 69999)]
    if facts != [70000, [0], [65535], [65536], [69999]]:
        yield "many.pt holds %s" % facts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--classes")
    arguments = parser.parse_args()
    if arguments.classes:
        sys.path.insert(0, arguments.classes)
    files = bad = skipped = 0
    for path in sorted(arguments.folder.glob("*/*/model.pt")):
        expected = json.loads((path.parent / "expected.json").read_text())
        if "tensors" not in expected:
            continue
        where = None if torch.cuda.is_available() else "cpu"
        ways = [{"weights_only": False, "pickle_module": MODULE}, {"weights_only": False, "mmap": True, "pickle_module": MODULE}]
        if expected.get("torch_load", {}).get("weights_only_True") == "ok":
            ways.append({"weights_only": True})
        for way in ways:
            files += 1
            try:
                problems = list(compare(torch.load(path, map_location=where, **way), expected))
            except Exception as error:  # whatever PyTorch says is a finding
                problems = ["%s: %s" % (type(error).__name__, str(error)[:300])]
                if fails_too(path.parent / "original.pt", where, way, error):
                    skipped += 1
                    problems = []
            for problem in problems:
                print("%s %s: %s" % (path.parent.relative_to(arguments.folder), sorted(way), problem))
            bad += bool(problems)
    if (arguments.folder / "large").exists():
        files += 2
        for problem in large(arguments.folder / "large"):
            print(problem)
            bad += 1
    print("%d loads, %d bad, %d that this PyTorch refuses of the original too" % (files, bad, skipped))
    files -= skipped
    return 1 if bad or not files else 0


if __name__ == "__main__":
    sys.exit(main())
