# SPDX-License-Identifier: Apache-2.0
"""Checkpoints, tables, recipes and what lies beside them that describe much in few bytes."""

import json
import struct

from bombs_tokenizer import CHARACTERS, CONFIG, LETTERS
from hostile_state import RECIPE


def text(value):
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def safetensors(header, data=b""):
    header = text(header)
    return struct.pack("<Q", len(header)) + header + data


def tensor(shape=(0, 2), begin=0, end=0, dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


ONE = tensor((1, 1), 0, 4)
MASK = safetensors({"a.weight": tensor((4, 4), 0, 16, "U8")}, bytes([0, 1] * 8))
WEIGHT = safetensors({"a.weight": tensor((4, 4), 0, 64)}, struct.pack("<16f", *range(1, 17)))


def sparse(layout, shape, parts, dtype="F32", name="w.weight"):
    """A tensor of few values in a large shape; parts are (dtype, shape, bytes) by name."""
    header, data = {"__metadata__": {f"sten:{name}": json.dumps({"layout": layout, "shape": shape, "dtype": dtype})}}, b""
    for part, (kind, dims, content) in parts.items():
        header[f"{name}::{part}"] = tensor(dims, len(data), len(data) + len(content), kind)
        data += content
    return safetensors(header, data)


VALUE = ("F32", [1], b"\0\0\x80\x3f")


def rows_of(layout, wide):
    """Rows without values but for one."""

    def make(size):
        n = size // 8
        ptr = ("I64", [n + 1], struct.pack("<q", 0) + struct.pack("<q", 1) * n)
        shape = [n, wide] if layout == "csr" else [wide, n]
        return sparse(layout, shape, {"ptr": ptr, "index": ("I32", [1], bytes(4)), "values": VALUE})

    return make


def coo(size):
    n = size // 12
    index = ("I32", [n], struct.pack(f"<{n}i", *range(n)))
    return sparse("coo", [2**31 - 1, 2**31 - 1], {"row": index, "col": index, "values": ("F32", [n], b"\0\0\x80\x3f" * n)})


def many_sparse(size):
    names = [f"t{i}.weight" for i in range(size // 300)]
    layout = json.dumps({"layout": "coo", "shape": [2**20, 2**20], "dtype": "F32"})
    header = {"__metadata__": {f"sten:{n}": layout for n in names}}
    for n in names:
        header |= {f"{n}::row": tensor((1,), 0, 4, "I32"), f"{n}::col": tensor((1,), 0, 4, "I32"), f"{n}::values": tensor((1,), 4, 8)}
    return safetensors(header, bytes(8))


CHECKPOINTS = {
    "empty tensors": lambda size: safetensors({f"t{i}.weight": tensor() for i in range(size // 70)}),
    "tensors of a value": lambda size: safetensors({f"t{i}.weight": tensor((1, 1), 4 * i, 4 * i + 4) for i in range(size // 80)}, bytes(4 * (size // 80))),
    "long names": lambda size: safetensors({f"{'n' * 4000}{i}.weight": tensor() for i in range(size // 4080)}),
    "names that are too long": lambda size: safetensors({"n" * size: tensor()}),
    "names of numbers": lambda size: safetensors({f"{'1.' * 100}{i}": tensor() for i in range(size // 270)}),
    "dimensions": lambda size: safetensors({"w": tensor([1] * (size // 3), 0, 4)}, bytes(4)),
    "digits": lambda size: safetensors(b'{"w": {"dtype": "F32", "data_offsets": [0, 0], "shape": [%s]}}' % (b"9" * size)),
    "blanks": lambda size: safetensors(b"{" + b" " * size + b"}"),
    "nested": lambda size: safetensors(b'{"a":' * (size // 5)),
    "lists": lambda size: safetensors(b"[" * size),
    "metadata": lambda size: safetensors({"__metadata__": {f"k{i}": "v" for i in range(size // 14)}, "w": ONE}, bytes(4)),
    "long metadata": lambda size: safetensors({"__metadata__": {"k": "v" * size}, "w": ONE}, bytes(4)),
    "provenance": lambda size: safetensors({"__metadata__": {"sten.provenance": "[" + "{}," * (size // 3) + "{}]"}, "w": ONE}, bytes(4)),
    "nested layout": lambda size: safetensors({"__metadata__": {"sten:w": '{"layout":' * (size // 12)}, "w::values": ONE}, bytes(4)),
    "long layout": lambda size: safetensors({"__metadata__": {"sten:w": json.dumps({"layout": "bcsr:h=" + "1" * size})}, "w::values": ONE}, bytes(4)),
    "rows": rows_of("csr", 2**40),
    "columns": rows_of("csc", 2**40),
    "coordinates": coo,
    "empty csr": lambda size: sparse("csr", [size // 8, 0], {"ptr": ("I64", [size // 8 + 1], bytes(size // 8 * 8 + 8)), "index": ("I32", [0], b""), "values": ("F32", [0], b"")}),
    "ell": lambda size: sparse("ell", [2**40, 0], {"index": ("I32", [0], b""), "values": ("F32", [0], b"")}),
    "bitmask": lambda size: sparse("bitmask", [2**40, 2**20], {"mask": ("U8", [0], b""), "values": VALUE}),
    "blocks": lambda size: sparse("bcsr:h=1048576,w=1048576", [2**20, 2**20], {"ptr": ("I64", [2], struct.pack("<2q", 0, 1)), "index": ("I32", [1], bytes(4)), "values": VALUE}),
    "n:m:g": lambda size: sparse("nmg:n=10,m=20,g=1000000", [2**30, 0], {"values": ("F32", [0], b"")}),
    "many sparse": many_sparse,
}


# ---------------------------------------------------------------------- directories with an index


def indexed(weight_map, shards=(("a.safetensors", WEIGHT),), metadata=None):
    index = weight_map if isinstance(weight_map, bytes) else {"metadata": metadata or {}, "weight_map": weight_map}
    return {"model/model.safetensors.index.json": text(index), "model/config.json": b"{}", **{f"model/{n}": c for n, c in shards}}


def tiny_shards(size):
    names = [f"s{i}.safetensors" for i in range(min(2000, size // 200))]
    shards = [(n, safetensors({f"t{i}.weight": ONE}, bytes(4))) for i, n in enumerate(names)]
    return indexed({f"t{i}.weight": n for i, n in enumerate(names)}, shards)


def one_shard(size):
    n = size // 130
    shard = safetensors({f"t{i}.weight": tensor() for i in range(n)})
    return indexed({f"t{i}.weight": "a.safetensors" for i in range(n)}, [("a.safetensors", shard)])


INDEXES = {
    "names of one shard": lambda size: indexed({f"t{i}.weight": "a.safetensors" for i in range(size // 36)}),
    "missing shards": lambda size: indexed({"a.weight": "a.safetensors", **{f"t{i}": f"s{i}.safetensors" for i in range(size // 32)}}),
    "tiny shards": tiny_shards,
    "one shard": one_shard,
    "long names": lambda size: indexed({"a.weight": "a.safetensors", "n" * size: "a.safetensors"}),
    "long shard": lambda size: indexed({"a.weight": "a" * size}),
    "nested": lambda size: indexed(b'{"weight_map":' * (size // 14)),
    "wide": lambda size: indexed(b'{"weight_map": [' + b"0," * (size // 2) + b"0]}"),
    "metadata": lambda size: indexed({"a.weight": "a.safetensors"}, metadata={"x": [0] * (size // 3)}),
    "keys": lambda size: indexed({"a.weight": "a.safetensors"}, metadata={f"k{i}": {} for i in range(size // 12)}),
    "blanks": lambda size: indexed(text({"weight_map": {"a.weight": "a.safetensors"}}) + b" " * size),
    "links to itself": lambda size: indexed({f"{'../' * (i % 50)}t{i}": "../model/" * (i % 50) + "a.safetensors" for i in range(size // 500)}),
}


# --------------------------------------------------------------------------------- arrays of numpy


def npy(header, data=b"", version=1):
    header = header if isinstance(header, bytes) else header.encode()
    header += b" " * (-(len(header) + 13) % 64) + b"\n"
    form = "<H" if version == 1 else "<I"
    if version == 1:
        header = header[:65535]
    return {"w.npy": b"\x93NUMPY" + bytes([version, 0]) + struct.pack(form, len(header)) + header + data}


def described(shape, descr="'<f4'", order="False"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


ARRAYS = {
    "dimensions": lambda size: npy(described("(" + "1," * (size // 2) + ")"), bytes(4), 2),
    "empty dimensions": lambda size: npy(described(f"(0, {2**40})")),
    "digits": lambda size: npy(described("(" + "9" * size + ",)"), b"", 2),
    "nested": lambda size: npy(described("(" * size), b"", 2),
    "blanks": lambda size: npy(described("(1, 1)") + " " * size, bytes(4), 2),
    "fields": lambda size: npy(described("(1, 1)", "[" + "('a', '<f4')," * (size // 13) + "]"), bytes(4), 2),
    "long type": lambda size: npy(described("(1, 1)", "'<f" + "4" * size + "'"), bytes(4), 2),
    "keys": lambda size: npy("{" + "'shape': (1, 1), " * (size // 17) + "}", bytes(4), 2),
    "quotes": lambda size: npy("{'" + "\\'" * (size // 2), b"", 2),
    "claims": lambda size: npy(described(f"({2**31}, {2**31})"), bytes(size)),
    "columns first": lambda size: npy(described(f"(2, {size // 8})", order="True"), bytes(size // 8 * 8)),
    "thin": lambda size: npy(described(f"({size // 4}, 1)"), bytes(size // 4 * 4)),
}


# ---------------------------------------------------------------------------- recipes and their data


def recipe(change, data="1,2,3,4,5,6,0\n1,2,3,4,5,6,1\n6,5,4,3,2,1,2\n" * 10, **files):
    made = json.loads(json.dumps(RECIPE))
    made = change if isinstance(change, bytes) else {**made, **change}
    table = data if isinstance(data, bytes) else data.encode()
    return {"recipe.json": text(made), "data.csv": table, **files}


SPARSE = RECIPE["sparsity"][0]
LAYERS = {"kind": "mlp", "sizes": [6, *[1] * 64, 3]}


def stages(schedule):
    return lambda size: recipe({"sparsity": [{**SPARSE, "schedule": schedule}], "steps": 10**9})


RECIPES = {
    "nested": lambda size: recipe(b'{"model":' * (size // 9)),
    "lists": lambda size: recipe(b"[" * size),
    "layers": lambda size: recipe({"model": {"kind": "mlp", "sizes": [6, *[1] * (size // 3), 3]}, "sparsity": []}),
    "deep residual network": lambda size: recipe({"model": {"kind": "wide-resnet", "depth": 6 * size + 4, "width": 1, "classes": 3}, "sparsity": []}),
    "deep transformer": lambda size: recipe(
        {"model": {"kind": "bert", "config": "config.json"}, "data": {"kind": "masked-text", "text": "text.txt", "vocabulary": "vocab.json", "window": 8}, "sparsity": []},
        **{"config.json": text({**CONFIG, "vocab_size": 100, "num_hidden_layers": size}), "vocab.json": text(CHARACTERS), "text.txt": b"a b c " * 1000},
    ),
    "wide layers": lambda size: recipe({"model": {"kind": "mlp", "sizes": [6, 2**31, 2**31, 3]}, "sparsity": []}),
    "targets": lambda size: recipe({"model": LAYERS, "sparsity": [{**SPARSE, "target": f"layers.{i}.weight"} for i in range(size // 250)]}),
    "globs": lambda size: recipe({"model": LAYERS, "sparsity": [{**SPARSE, "target": "*a" * (size // 4) + "*"}]}),
    "long target": lambda size: recipe({"sparsity": [{**SPARSE, "target": "l" * size}]}),
    "long sparsifier": lambda size: recipe({"sparsity": [{**SPARSE, "sparsifier": "magnitude:" + "sparsity=0.5," * (size // 13)}]}),
    "unknown key": lambda size: recipe({"k" * size: 1}),
    "unknown keys": lambda size: recipe({f"k{i}": 1 for i in range(size // 10)}),
    "numbers below a long key": lambda size: recipe({"k" * (size // 2): [0] * (size // 4)}),
    "digits": lambda size: recipe(text(RECIPE).replace(b'"steps": 24', b'"steps": ' + b"9" * size)),
    "points": lambda size: recipe({"rate": {"kind": "piecewise", "points": [[i, 0.5] for i in range(size // 12)]}}),
    "steps": lambda size: recipe({"steps": 2**60, "evaluation": {"every": 1}, "checkpoints": {"every": 1}}),
    "stages": lambda size: recipe({"sparsity": [{**SPARSE, "schedule": {"kind": "iterative", "from": 0.0, "step": 1e-9, "end": 10**9}}], "steps": 2**40}),
    "many stages": lambda size: recipe({"sparsity": [{**SPARSE, "schedule": {"kind": "linear", "stages": 2**30, "end": 2**31}}], "steps": 2**40}),
    "batch": lambda size: recipe({"batch": 2**60}),
    "blanks": lambda size: recipe(text(RECIPE) + b" " * size),
}

TABLES = {
    "rows": lambda size: recipe({}, "1,2,3,4,5,6,0\n" * (size // 14)),
    "long line": lambda size: recipe({}, "1," * (size // 2)),
    "lines": lambda size: recipe({}, "\n" * size),
    "digits": lambda size: recipe({}, "1,2,3,4,5," + "9" * size + ",0\n"),
    "exponents": lambda size: recipe({}, "1e308,1e-308,1,1,1,1,0\n" * (size // 23)),
    "far label": lambda size: recipe({}, "1,2,3,4,5,6,%d\n" % (2**62) + "1,2,3,4,5,6,0\n" * (size // 14)),
    "labels": lambda size: recipe({}, "".join(f"1,2,3,4,5,6,{i}\n" for i in range(size // 18))),
    "columns": lambda size: recipe({}, ("1," * (size // 64) + "0\n") * 32),
    "header": lambda size: recipe({}, "a" * (size // 2) + ",b\n" * 2),
    "quotes": lambda size: recipe({}, '"' * size),
    "idx": lambda size: recipe({"data": {"kind": "arrays", "features": "f.idx", "labels": "l.idx"}}, **{"f.idx": b"\0\0\x08\x03" + struct.pack(">3I", 2**31 - 1, 2**31 - 1, 4) + bytes(size), "l.idx": b"\0\0\x08\x01" + struct.pack(">I", 2**31 - 1)}),
    "idx of many dimensions": lambda size: recipe({"data": {"kind": "arrays", "features": "f.idx", "labels": "l.idx"}}, **{"f.idx": b"\0\0\x08\xff" + struct.pack(">I", 1) * 255 + bytes(size), "l.idx": b"\0\0\x08\x01" + struct.pack(">I", 1) + b"\0"}),
    "idx without rows": lambda size: recipe({"data": {"kind": "arrays", "features": "f.idx", "labels": "l.idx"}}, **{"f.idx": b"\0\0\x08\x02" + struct.pack(">2I", 0, 2**31 - 1), "l.idx": b"\0\0\x08\x01" + struct.pack(">I", 0)}),
    "idx without columns": lambda size: recipe({"data": {"kind": "arrays", "features": "f.idx", "labels": "l.idx"}}, **{"f.idx": b"\0\0\x08\x02" + struct.pack(">2I", size, 0), "l.idx": b"\0\0\x08\x01" + struct.pack(">I", size) + bytes(size)}),
    "cifar": lambda size: recipe({"data": {"kind": "cifar", "folder": "cifar"}}, **{f"cifar/data_batch_{i}.bin": bytes(3073 * (1 + size // 3073 // 6)) for i in range(1, 6)}, **{"cifar/test_batch.bin": bytes(3073)}),
    "json lines": lambda size: recipe({"data": {"kind": "labelled-text", "file": "rows.jsonl", "vocabulary": "vocab.json"}}, **{"rows.jsonl": b"[" * size + b"\n", "vocab.json": text(LETTERS)}),
}


# ----------------------------------------------------- masks, scores, rules and records of a batch


def beside(**files):
    return {"in.safetensors": WEIGHT, "mask.safetensors": MASK, "rules.txt": b"*=2:4\n", **{k.replace("_", "."): v for k, v in files.items()}}


def record(content):
    return {**beside(), "batch/.sten-batch.json": text(content), "batch/in.safetensors": WEIGHT}


STATES = {
    "masks": lambda size: beside(mask_safetensors=safetensors({f"t{i}": tensor() for i in range(size // 64)})),
    "mask of another shape": lambda size: beside(mask_safetensors=safetensors({"a.weight": tensor((2**40, 0), dtype="U8")})),
    "sparse mask": lambda size: beside(mask_safetensors=sparse("csr", [2**40, 0], {"ptr": ("I64", [1], bytes(8)), "index": ("I32", [0], b""), "values": ("F32", [0], b"")}, name="a.weight")),
    "rules": lambda size: beside(rules_txt=b"*.weight=2:4\n" * (size // 13)),
    "globs": lambda size: beside(rules_txt=b"*a" * (size // 2) + b"*=2:4\n", in_safetensors=safetensors({"a" * 4000: ONE}, bytes(4))),
    "sets": lambda size: beside(rules_txt=b"[" * size + b"=2:4\n", in_safetensors=safetensors({"a" * 4000: ONE}, bytes(4))),
    "long rule": lambda size: beside(rules_txt=b"x" * size + b"=2:4\n"),
    "comments": lambda size: beside(rules_txt=b"#\n" * (size // 2) + b"*=2:4\n"),
    "rules and tensors": lambda size: beside(
        rules_txt=b"".join(b"x%d*y=2:4\n" % i for i in range(size // 40)),
        in_safetensors=safetensors({f"x.{i}.weight": tensor() for i in range(size // 140)}),
    ),
    "record": lambda size: record({"schema": 1, "outputs": {f"o{i}": {} for i in range(size // 12)}}),
    "nested record": lambda size: record(b'{"outputs":' * (size // 11)),
    "wide record": lambda size: record(b"[" + b"0," * (size // 2) + b"0]"),
}

LOOK = ["energy", "IN", "--list"]
PRUNE = ["--sparsity", "0.5", "--include", "*"]
TRAIN = [["train", "recipe.json", "--dry-run", "--out", "OUT"]]
FORMATS = {
    "safetensors": (CHECKPOINTS, [LOOK, ["energy", "IN", "--json", "--require", "*=2:4"], ["convert", "IN", "-o", "OUT.safetensors", "--to", "csr"]]),
    "index": (INDEXES, [["energy", "model", "--list"], ["prune", "model", "-o", "OUT", *PRUNE]]),
    "npy": (ARRAYS, [["energy", "w.npy", "--list"], ["prune", "w.npy", "-o", "OUT.npy", *PRUNE]]),
    "recipe": (RECIPES, TRAIN),
    "table": (TABLES, TRAIN),
    "state": (
        STATES,
        [
            ["prune", "in.safetensors", "-o", "OUT.safetensors", "--mask", "mask.safetensors"],
            ["prune", "in.safetensors", "-o", "OUT.safetensors", "--sparsity", "0.5", "--rules", "rules.txt"],
            ["prune", "in.safetensors", "--out-dir", "batch", "--sparsity", "0.5", "--skip-existing"],
        ],
    ),
}
