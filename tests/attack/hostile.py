# SPDX-License-Identifier: Apache-2.0
"""Damaged files of every kind that a program reads: each ends in time, within its memory, with an
exit code that is documented and at most one line, and leaves nothing."""

import json
import os
import struct

import hostile_state
import numpy as np
from _harness import HANG, Failure, hidden, remove
from _models import generator, random_model, write_model
from _mutate import bytes_of, edited, json_of, text_of
from _reference import entry, file_bytes, read_file
from differential import encoded

RUNS = 40  # in a round

# Each a program and what it is asked; IN and OUT stand for paths.
TASKS = [
    ["energy", "IN"],
    ["energy", "IN", "--json", "--include", "*"],
    ["energy", "IN", "--require", "*=nm:n=2,m=4", "--include", "*"],
    ["energy", "IN", "--require", "*=nmg:n=1,m=10,g=4"],
    ["energy", "IN", "--sweep", "--plot", "OUT.svg"],
    ["energy", "IN", "--against", "IN"],
    ["energy", "IN", "--report", "OUT.html"],
    ["convert", "IN", "-o", "OUT", "--to", "dense", "--include", "*"],
    ["convert", "IN", "-o", "OUT", "--to", "csr", "--include", "*"],
    ["convert", "IN", "-o", "OUT", "--to", "csc"],
    ["convert", "IN", "-o", "OUT", "--to", "ell", "--lossless"],
    ["convert", "IN", "-o", "OUT", "--to", "bcsr:h=4,w=4"],
    ["convert", "IN", "-o", "OUT", "--to", "coo", "--report", "OUT.csv"],
    ["convert", "IN", "-o", "OUT", "--to", "nm:n=2,m=4"],
    ["convert", "IN", "-o", "OUT", "--to", "nmg:n=1,m=4,g=2"],
    ["prune", "IN", "-o", "OUT", "--sparsity", "0.5"],
    ["prune", "IN", "-o", "OUT", "--sparsity", "0.5", "--scope", "global", "--to", "bitmask"],
    ["prune", "IN", "-o", "OUT", "--structure", "nm:n=2,m=4", "--to", "nm", "--report", "OUT.md"],
    [
        "prune",
        "IN",
        "-o",
        "OUT",
        "--sparsity",
        "0.5",
        "--include",
        "*",
        "--nan",
        "keep",
        "--mask-out",
        "OUT.masks",
    ],
    ["prune", "IN", "--dry-run", "--sparsity", "0.9", "--json"],
]
# Those whose result is not as large as the tensor would be in dense.
FRUGAL = [
    task
    for task in TASKS
    if task[0] == "energy" or any(to in task for to in ("csr", "csc", "coo", "ell", "bcsr:h=4,w=4"))
]


def attack_file(a, rng, folder, task, given, out, extra=(), size=None, patience=HANG):
    """One run and its verdict."""
    words = [{"IN": str(given)}.get(w, w.replace("OUT", str(out))) for w in task]
    left = [out, f"{out}.masks"]
    size = size if size is not None else size_below(given)
    end = a.sten(words[0], *words[1:], *extra, "-q", cwd=folder, patience=patience)
    a.judge(end, size, left)
    if found := hidden(folder):
        raise Failure(f"left {found[0]}")
    for path in [*left, *(f"{out}.{e}" for e in ("svg", "html", "csv", "md"))]:
        remove(path)
    a.count("accepted" if end.code == 0 else "refused")
    return end


def size_below(path):
    if os.path.isdir(path):
        return sum(os.lstat(os.path.join(d, f)).st_size for d, _, fs in os.walk(path) for f in fs)
    return os.path.getsize(path)


# ----------------------------------------------------------------------------- safetensors files


def sparse_model(rng):
    """A small valid file with tensors in several layouts: (header as JSON, data)."""
    entries, metadata = [], {"format": "pt"}
    for i in range(rng.randint(1, 4)):
        more, text, _, _ = encoded(rng, f"t.{i}.weight")
        entries += more
        if text:
            metadata[f"sten:t.{i}.weight"] = text
    if rng.random() < 0.5:
        metadata["sten.provenance"] = json.dumps(
            [{"program": "sten-prune", "version": "0.1.0", "options": {"to": "csr"}}]
        )
    if rng.random() < 0.3:
        metadata["sten.sparsity"] = json.dumps({"formats": {"w": "magnitude:sparsity=0.5"}})
    content = file_bytes(entries, metadata)
    (length,) = struct.unpack_from("<Q", content)
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def packed(header, data):
    text = header if isinstance(header, bytes) else text_of(header)
    return struct.pack("<Q", len(text)) + text + data


def damaged_metadata(rng, header):
    metadata = header.get("__metadata__")
    if not isinstance(metadata, dict) or not metadata:
        return
    key = rng.choice(list(metadata))
    kind = rng.random()
    if kind < 0.7:
        try:
            text = text_of(edited(rng, json.loads(metadata[key])))
        except ValueError:
            text = b"x"
        metadata[key] = text.decode("utf-8", "replace")
    elif kind < 0.85:
        metadata[key] = rng.choice(["", "[" * 70000, "{", "null", '{"layout":' * 20000, "\x00", "a" * 100000])
    else:
        metadata[
            rng.choice(
                ["sten:", "sten:__metadata__", "sten:..", "sten:x/..", "sten:t.0.weight", "sten.provenance"]
            )
        ] = rng.choice(['{"layout": "csr", "shape": [1099511627776, 0], "dtype": "F32"}', "[", metadata[key]])


def costly(rng):
    """NarrowPanel bytes that describe much."""
    shape = rng.choice(
        [[2**40, 0], [0, 3 * 10**9], [0, 2**40], [12000, 12000], [2**31, 2], [3, 2**31], [2**20, 2**20]]
    )
    rows, columns = shape
    layout = rng.choice(
        ["dense", "coo", "csr", "csc", "bitmask", "masked", "ell", "nm:n=2,m=4", "nmg:n=1,m=10,g=4"]
    )
    parts, dtype = {"values": ("F32", [1], b"\0\0\x80\x3f")}, "F32"
    if layout == "dense":
        if rows * columns:
            shape = [2**40, 0]
        return packed({"w.weight": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}, b"")
    if rows * columns == 0:
        parts = {"values": ("F32", [0], b"")}
    n = parts["values"][1][0]
    if layout == "coo":
        parts = {"row": ("I32", [n], bytes(4 * n)), "col": ("I32", [n], bytes(4 * n)), **parts}
    elif layout in ("csr", "csc"):
        lines = min(rows if layout == "csr" else columns, 40000)
        ptr = struct.pack("<q", 0) + struct.pack("<q", n) * lines
        parts = {"ptr": ("I64", [lines + 1], ptr), "index": ("I32", [n], bytes(4 * n)), **parts}
    elif layout in ("bitmask", "masked"):
        parts = {"mask": ("U8", [0], b""), **parts}
    header, data = {
        "__metadata__": {"sten:w.weight": json.dumps({"layout": layout, "shape": shape, "dtype": dtype})}
    }, b""
    for part, (kind, dims, content) in parts.items():
        header[f"w.weight::{part}"] = {
            "dtype": kind,
            "shape": dims,
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    return packed(header, data)


def safetensors_file(a, rng, folder):
    header, data = sparse_model(rng)
    path = folder / "in.safetensors"
    for _ in range(RUNS):
        h, kind = json.loads(json.dumps(header)), rng.random()
        if kind < 0.3:
            damaged_metadata(rng, h)
            content = packed(h, data)
        elif kind < 0.5:
            content = packed(json_of(rng, text_of(h)), data)
        elif kind < 0.7:
            content = packed(h, bytes_of(rng, data))
        elif kind < 0.85:
            content = bytes_of(rng, packed(h, data))
        else:
            content = costly(rng)
        path.write_bytes(content)
        tasks = TASKS if kind < 0.85 else FRUGAL
        attack_file(a, rng, folder, rng.choice(tasks), path, folder / "out.safetensors")
    return "safetensors files"


def many_things(a, rng, folder):
    """Files in which there is much of something: tensors, dimensions, names."""
    kind = rng.choice(["tensors", "names", "sparse", "long"])
    n = rng.choice([1000, 20000]) // (5 if a.sanitized else 1)
    header, data = {}, b""
    if kind == "long":
        for i in range(200):
            header["n" * rng.choice([4000, 4089, 4096]) + str(i)[:3] + ".weight"] = {
                "dtype": "F32",
                "shape": [0, 2],
                "data_offsets": [0, 0],
            }
    for i in range(n if kind != "long" else 0):
        name = f"layer.{i}.weight" if kind != "names" else ("a" * (i % 90) + f"{i}" + ".weight")
        header[name] = {"dtype": "F32", "shape": [1, 1], "data_offsets": [4 * i, 4 * i + 4]}
        data += b"\0\0\x80\x3f"
    if kind == "sparse":
        header = {
            "__metadata__": {
                f"sten:{n}": '{"layout": "csr", "shape": [1, 1], "dtype": "F32"}' for n in header
            },
            **header,
        }
    path = folder / "in.safetensors"
    path.write_bytes(packed(header, data))
    for task in rng.sample(TASKS, 2):
        if "--sweep" not in task and "-o" in task or task[0] == "energy":
            attack_file(a, rng, folder, task, path, folder / "out.safetensors")
    return f"{n} {kind}"


# ----------------------------------------------------------------------------- everything else


def npy_file(a, rng, folder):
    path = folder / "w.npy"
    for _ in range(RUNS // 2):
        array = generator(rng).standard_normal((rng.randint(0, 9), rng.randint(1, 9)))
        np.save(path, array.astype(rng.choice(["<f4", "<f8", "<f2"])), allow_pickle=False)
        content = bytes_of(rng, path.read_bytes()[: rng.choice([60, 128, 10**6])])
        if rng.random() < 0.3:
            shape = rng.choice(
                ["(4611686018427387904, 4)", "(1099511627776, 0)", "(-1, 2)", "(" * 5000, "()", "(2,)"]
            )
            text = f"{{'descr': '<f4', 'fortran_order': {rng.choice(['True', 'False', '1'])}, 'shape': {shape}, }}".encode()
            content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) & 0xFFFF) + text + bytes(8)
        path.write_bytes(content)
        attack_file(
            a, rng, folder, rng.choice(TASKS), path, folder / rng.choice(["out.safetensors", "out.npy"])
        )
    return "npy files"


def directory(a, rng, folder):
    base = folder / "in"
    base.mkdir()
    entries, _ = random_model(rng)
    half = max(1, len(entries) // 2)
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    index = {"metadata": {"total_size": sum(len(e.data) for e in entries)}, "weight_map": {}}
    for name, part in zip(names, (entries[:half], entries[half:])):
        write_model(rng, base / name, part, {"format": "pt"})
        index["weight_map"].update({e.name: name for e in part})
    good = {n: (base / n).read_bytes() for n in names}
    good["model.safetensors.index.json"] = text_of(index)
    good["config.json"] = b'{"model_type": "bert", "hidden_size": 4}'
    for _ in range(RUNS // 2):
        for name, content in good.items():
            (base / name).write_bytes(content)
        name, kind = rng.choice([*good, "model.safetensors.index.json"]), rng.random()
        if kind < 0.7:
            (base / name).write_bytes(
                json_of(rng, good[name]) if name.endswith("json") else bytes_of(rng, good[name])
            )
        elif kind < 0.8:
            (base / name).unlink()
        elif kind < 0.9:
            (base / name).unlink()
            (base / name).symlink_to(rng.choice([name, "/dev/zero", "..", "nothing", "/etc/passwd", "../in"]))
        else:
            (base / name).unlink()
            (base / name).mkdir()
        attack_file(a, rng, folder, rng.choice(TASKS), base, folder / "out")
        for left in base.iterdir():
            if left.is_dir() and not left.is_symlink():
                left.rmdir()
            else:
                left.unlink()
    return "directories"


def beside(a, rng, folder):
    """Masks, scores, rules, patterns and specs."""
    entries, pruned = random_model(rng)
    path, other = folder / "in.safetensors", folder / "other"
    write_model(rng, path, entries)
    file, g = read_file(path), generator(rng)
    masks = file_bytes([entry(n, "BOOL", (g.random(file[n].shape) < 0.5).astype("u1")) for n in pruned])
    scores = file_bytes([entry(n, "F32", g.standard_normal(file[n].shape).astype("f4")) for n in pruned])
    rules = b"*.1.*=nm:n=2,m=4\n# comment\nlayer.2.weight=magnitude:sparsity=0.5\n*=keep\n"
    specs = [
        "nm:n=2,m=4",
        "nmg:n=1,m=10,g=4,fit=exact",
        "block:h=4,w=4",
        "magnitude:sparsity=0.5",
        "bcsr:h=4,w=4",
        "*=threshold:at=1",
    ]
    for _ in range(RUNS):
        kind, extra = rng.random(), []
        if kind < 0.25:
            other.write_bytes(bytes_of(rng, masks))
            task = ["prune", "IN", "-o", "OUT", "--mask", str(other)]
        elif kind < 0.5:
            other.write_bytes(bytes_of(rng, scores))
            task = [
                "prune",
                "IN",
                "-o",
                "OUT",
                "--sparsity",
                "0.5",
                "--scores",
                str(other),
                "--method",
                rng.choice(["movement", "gradient"]),
            ]
        elif kind < 0.65:
            other.write_bytes(bytes_of(rng, rules))
            task = ["prune", "IN", "-o", "OUT", "--sparsity", "0.5", "--rules", str(other)]
        else:
            text = bytes_of(rng, rng.choice(specs).encode()).replace(b"\0", b"")
            flag = rng.choice(
                [
                    "--structure",
                    "--to",
                    "--rule",
                    "--include",
                    "--exclude",
                    "--sparsity",
                    "--at",
                    "--schedule",
                ]
            )
            task = ["prune", "IN", "-o", "OUT", "--sparsity", "0.5"] + [flag, os.fsdecode(text)]
        attack_file(
            a,
            rng,
            folder,
            task,
            path,
            folder / "out.safetensors",
            extra,
            size_below(path) + (size_below(other) if other.exists() else 0),
        )
    return "masks, scores, rules and specs"


def play(a, rng, folder):
    kinds = [safetensors_file] * 5 + [npy_file, directory, beside, many_things]
    kinds += [
        hostile_state.recipe,
        hostile_state.recipe,
        hostile_state.prune_state,
        hostile_state.train_state,
        hostile_state.metrics,
    ]
    return rng.choice(kinds)(a, rng, folder)
