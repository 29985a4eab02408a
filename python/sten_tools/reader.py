# SPDX-License-Identifier: Apache-2.0
"""Reads what sten writes, in any layout, with numpy alone and without libsten: load(path) -> {name: dense array}.
The path may be a directory. Without ml_dtypes bfloat16 becomes float32, and float8 is an error; in an .npz
both are float32. torch_reader.py beside it gives tensors of PyTorch."""
import argparse, json, math, pathlib, re, struct, numpy as np  # noqa: E401
TYPES = {f"{kind}{8 * w}": f"<{kind.lower()}{w}" for kind in "FUIC" for w in (1, 2, 4, 8)} | dict(BOOL="?", BF16="<u2")
PARTS = dict(masked="values mask", bitmask="mask values", csr="ptr index values", csc="ptr index values",
             coo="row col values", ell="index values", bcsr="ptr col values", nm="values pos", nmg="values index",
             nmgv="values index")
# What numpy has no type for, as ml_dtypes and PyTorch call it.
SMALL = dict(BF16="bfloat16", F8_E4M3="float8_e4m3fn", F8_E5M2="float8_e5m2", F8_E8M0="float8_e8m0fnu",
             F8_E4M3FNUZ="float8_e4m3fnuz", F8_E5M2FNUZ="float8_e5m2fnuz")

def patterns(n, m, back=False):  # all n of m, neighbours differ in one position
    if n in (0, m): return [tuple(range(n))]
    return patterns(n, m - 1, True)[:: -1 if back else 1] + [p + (m - 1,) for p in patterns(n - 1, m - 1, not back)]
def blocks(at, axis, size):  # [..., block, size]: the axis, moved to the end and cut; -1 is padding
    at = np.pad(np.moveaxis(at, axis, -1), [(0, 0)] * (at.ndim - 1) + [(0, -at.shape[axis] % size)], constant_values=-1)
    return at.reshape(*at.shape[:-1], at.shape[-1] // size, size)

def places(layout, shape, values, mask=None, ptr=None, index=None, row=None, col=None, pos=None):  # of the values
    name, args = layout.partition(":")[0], dict(w=2) | dict(re.findall(r"(\w+)=([\d.]+)", layout))
    n, m, g, axis, h, v, w = (int(args.get(key, name == "nm")) for key in ("n", "m", "g", "axis", "h", "v", "w"))
    at = np.arange(math.prod(shape)).reshape(shape)
    if "mask" in name: return at if name == "masked" else at.ravel()[np.unpackbits(mask, None, at.size, "little") == 1]
    at = at if "dims" in args else at.reshape(shape[0], math.prod(shape[1:]))
    at = np.moveaxis(at, [int(d) for d in args.get("dims", "0.1").split(".")], [-2, -1])  # [batch..., row, column]
    if name == "coo": return at.ravel()[row.astype(np.int64) * at.shape[-1] + col]
    if name == "ell": return np.append(at, -1)[np.where(index < 0, at.size, np.arange(math.prod(at.shape[:-1])).reshape(
        *at.shape[:-1], 1) * at.shape[-1] + index)]
    if name == "csc": at = np.moveaxis(at, -1, -2)
    if name in ("csr", "csc"): return at.ravel()[np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)) * at.shape[-1] + index]
    if name in ("bcsr", "nmgv"):
        at = np.moveaxis(blocks(blocks(at, -2, h or v), -3, w), -3, -2)  # [..., block row, block column, h, w]
    if name == "nmgv":  # n:m:g of the blocks
        tiles = f"nmg:n={n},m={m},g={g},axis={axis},dims={at.ndim - 4}.{at.ndim - 3}"
        tiles = places(tiles, at.shape[:-2], values, index=index)
        return np.pad(at.reshape(-1, v * w), ((0, 1), (0, 0)), constant_values=-1)[tiles]
    if name == "bcsr":
        return at.reshape(len(ptr) - 1, *at.shape[-3:])[np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)), col]
    at = blocks(at, axis - 2, m)
    if name == "nm":
        shape = (*values.shape, (m - 1).bit_length())
        bits = np.unpackbits(pos, -1, math.prod(shape[-3:]), "little").reshape(shape)
        return np.take_along_axis(at, bits @ (1 << np.arange(shape[-1])), -1)
    pattern = np.array(patterns(n, m))
    at = np.moveaxis(blocks(at, -3, len(pattern) * g), -3, -1)  # [..., row block, chunk, column, m]
    at = np.take_along_axis(at, index.reshape(*at.shape[:-1], 1), -2).reshape(*index.shape, m)
    return at[..., np.arange(len(pattern))[:, None, None], np.arange(g)[:, None], pattern[:, None]]

def tensors(path):  # (name, layout, dtype, dense array) of each; the array of a SMALL dtype has its bits
    path, st = pathlib.Path(path), "*.safetensors"
    files = {path / n for i in path.glob(f"{st}.index.json") for n in json.loads(i.read_text())["weight_map"].values()}
    for file in sorted(files) or sorted(path.glob("model" + st)) or sorted(path.glob(st)) or [path]:
        with open(file, "rb") as f:
            header, data = json.loads(f.read(*struct.unpack("<Q", f.read(8)))), np.fromfile(f, np.uint8)
        sparse = {k[5:]: json.loads(t) for k, t in header.pop("__metadata__", {}).items() if k.startswith("sten:")}
        arrays = {name: data[slice(*e["data_offsets"])].view(TYPES.get(e["dtype"], "u1")).reshape(
            -1 if e["dtype"].startswith(("F4", "F6_")) else e["shape"]) for name, e in header.items()}  # those: packed
        for name, t in sparse.items():
            if (layout := t["layout"].partition(":")[0]) not in PARTS:
                raise ValueError(f"{file}: {name!r}: unknown layout {layout!r} (expected one of {', '.join(PARTS)})")
            part = {p: arrays.pop(f"{name}::{p}") for p in PARTS[layout].split()}
            arrays.pop(f"{name}::mask", None)  # of bcsr: what it drops is 0
            out = np.zeros(math.prod(t["shape"]) + 1, part["values"].dtype)  # one more for padding
            out[places(t["layout"], t["shape"], **part)] = part["values"]
            yield name, t["layout"], t["dtype"], out[:-1].reshape(t["shape"])
        yield from ((name, "dense", header[name]["dtype"], x) for name, x in arrays.items())
def numbers(name, dtype, x):  # of the bits
    if dtype not in SMALL: return x
    try:
        import ml_dtypes
        return x.view(getattr(ml_dtypes, SMALL[dtype]))
    except (ImportError, AttributeError):
        if dtype != "BF16": raise TypeError(f"{name} is {dtype}, which needs a new ml_dtypes") from None
    halves = np.zeros((*x.shape, 2), "<u2")
    halves[..., 1] = x
    return halves.view("<f4")[..., 0]
def load(path): return {name: numbers(name, dtype, x) for name, _, dtype, x in tensors(path)}

def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for argument in ("file", "--npz"): parser.add_argument(argument)
    options, arrays = parser.parse_args(), {}
    for name, layout, dtype, x in tensors(options.file):
        x = numbers(name, dtype, x)
        print(name, layout, dtype, list(x.shape), f"{1 - np.count_nonzero(x) / max(x.size, 1):.4f}", sep="\t")
        arrays[name] = x if x.dtype.isbuiltin == 1 else x.astype("<f4")
    if options.npz: np.savez(options.npz, **arrays)
if __name__ == "__main__": main()
