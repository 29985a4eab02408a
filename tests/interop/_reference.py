# SPDX-License-Identifier: Apache-2.0
"""What sten's files and rules mean, in numpy alone.

Written from the description of the formats, not from the programs, so that a mistake in one is
not repeated in the other. Elements are unsigned integers of their width ("bits"): every dtype
then compares exactly, NaN and -0.0 included.
"""

import json
import math
import pathlib
import struct
import sys
from dataclasses import dataclass

import ml_dtypes
import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from sten_tools import reader  # noqa: E402, of python/

BITS = {
    **dict.fromkeys("BOOL U8 I8 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ".split(), 8),
    **dict.fromkeys("I16 U16 F16 BF16".split(), 16),
    **dict.fromkeys("I32 U32 F32".split(), 32),
    **dict.fromkeys("C64 F64 I64 U64".split(), 64),
    **{"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6},
}
BYTE_DTYPES = [dtype for dtype, bits in BITS.items() if bits >= 8]
FLOATS = {  # those that can be pruned
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
}


def width(dtype):
    """Bytes of an element."""
    return BITS[dtype] // 8


def bits_type(dtype):
    return np.dtype(f"<u{width(dtype)}")


def ceil_div(a, b):
    return -(-a // b)


def size_of(shape):
    return math.prod(shape)


# ---------------------------------------------------------------------------------------- files


@dataclass
class Entry:
    name: str
    dtype: str
    shape: tuple
    data: bytes

    def array(self):
        """The elements' bits in the entry's shape."""
        return np.frombuffer(self.data, bits_type(self.dtype)).reshape(self.shape)


@dataclass
class File:
    metadata: dict  # None where the file has none
    entries: list  # in the order of the header
    data_order: list  # names in the order of the data

    def __getitem__(self, name):
        return next(e for e in self.entries if e.name == name)

    def names(self):
        return [e.name for e in self.entries]


def entry(name, dtype, array):
    """From any numpy array of the right width."""
    array = np.asarray(array)
    assert array.dtype.itemsize == width(dtype), (name, dtype, array.dtype)
    return Entry(name, dtype, array.shape, array.tobytes())


def parse_file(content):
    (length,) = struct.unpack_from("<Q", content)
    data = content[8 + length :]

    def unique(pairs):
        keys = [key for key, _ in pairs]
        assert len(set(keys)) == len(keys), keys
        return dict(pairs)

    header = json.loads(content[8 : 8 + length].decode("utf-8"), object_pairs_hook=unique)
    metadata = header.pop("__metadata__", None)
    entries, spans = [], []
    for name, fields in header.items():
        assert set(fields) == {"dtype", "shape", "data_offsets"}, fields
        begin, end = fields["data_offsets"]
        shape = tuple(fields["shape"])
        assert (end - begin) * 8 == size_of(shape) * BITS[fields["dtype"]], name
        entries.append(Entry(name, fields["dtype"], shape, data[begin:end]))
        spans.append((begin, end, name))
    # Empty entries take no place, so the header's order breaks their ties.
    spans.sort(key=lambda span: span[:2])
    at = 0
    for begin, end, name in spans:
        assert begin == at, f"{name} begins at {begin}, not {at}"
        at = end
    assert at == len(data), f"{len(data) - at} bytes are left over"
    return File(metadata, entries, [name for _, _, name in spans])


def read_file(path):
    with open(path, "rb") as f:
        return parse_file(f.read())


def file_bytes(entries, metadata=None, data_order=None, before="", after="", spaced=False):
    """A file with the header in the order of `entries` and the data in that of `data_order`.

    Nothing is aligned: `before` and `after` surround the header's object.
    """
    by_name = {e.name: e for e in entries}
    assert len(by_name) == len(entries)
    spans, data = {}, b""
    for name in data_order or by_name:
        spans[name] = [len(data), len(data) + len(by_name[name].data)]
        data += by_name[name].data
    header = {} if metadata is None else {"__metadata__": metadata}
    for e in entries:
        header[e.name] = {"dtype": e.dtype, "shape": e.shape, "data_offsets": spans[e.name]}
    text = json.dumps(header, indent=1 if spaced else None, ensure_ascii=spaced)
    text = (before + text + after).encode("utf-8")
    return struct.pack("<Q", len(text)) + text + data


@dataclass
class Tensor:
    """A tensor in any layout. A dense one has its bits as the only part, "values"."""

    layout: str
    shape: tuple
    dtype: str
    parts: dict  # name -> array


def tensors_of(file):
    """name -> Tensor, each at the place of its first part."""
    described = {
        key[len("sten:") :]: json.loads(text)
        for key, text in (file.metadata or {}).items()
        if key.startswith("sten:")
    }
    out = {}
    for e in file.entries:
        name, _, part = e.name.rpartition("::")
        if name in described:
            d = described[name]
            assert set(d) == {"layout", "shape", "dtype"}, d
            tensor = Tensor(d["layout"], tuple(d["shape"]), d["dtype"], {})
            array = e.array()
            if part != "values":
                array = array.view(PART_TYPES[e.dtype])
            else:
                assert e.dtype == d["dtype"], (e.name, e.dtype)
            out.setdefault(name, tensor).parts[part] = array
        else:
            assert e.name not in described
            bits = e.array() if BITS[e.dtype] >= 8 else None
            out[e.name] = Tensor("dense", e.shape, e.dtype, {"values": bits})
    assert set(described) <= set(out)
    return out


PART_TYPES = {"U8": np.uint8, "U16": np.uint16, "I32": np.int32, "I64": np.int64}
PART_NAMES = {t: name for name, t in PART_TYPES.items()}


def entries_of(name, tensor):
    """The entries of a tensor, and its text in the metadata (None for a dense one)."""
    if tensor.layout == "dense":
        return [entry(name, tensor.dtype, tensor.parts["values"])], None
    entries = []
    for part, array in tensor.parts.items():
        dtype = tensor.dtype if part == "values" else PART_NAMES[array.dtype.type]
        entries.append(entry(f"{name}::{part}", dtype, array))
    text = {"layout": tensor.layout, "shape": tensor.shape, "dtype": tensor.dtype}
    return entries, json.dumps(text)


# -------------------------------------------------------------------------------------- layouts


def parse_spec(text):
    """'nm:n=2,m=4' -> ('nm', {'n': 2, 'm': 4}); dims becomes a pair."""
    name, _, rest = text.partition(":")
    args = dict(item.split("=") for item in rest.split(",") if item)
    dims = args.pop("dims", None)
    args = {key: int(value) for key, value in args.items() if key != "fit"}
    args["dims"] = tuple(int(d) for d in dims.split(".")) if dims else None
    return name, args


def places(shape, dims=None, transposed=False):
    """[batch..., rows, columns] of row-major offsets: how a layout sees a tensor as matrices."""
    at = np.arange(size_of(shape)).reshape(shape)
    if dims is None:
        at = at.reshape(shape[0], size_of(shape[1:]))
    else:
        others = [d for d in range(len(shape)) if d not in dims]
        at = at.transpose(others + list(dims))
    return at.swapaxes(-1, -2) if transposed else at


def pad_last(at, multiple, filler):
    short = -at.shape[-1] % multiple
    return np.pad(at, [(0, 0)] * (at.ndim - 1) + [(0, short)], constant_values=filler)


def patterns(n, m, backwards=False):
    """All n of m, neighbours differing in one position."""
    if n == 0:
        return [()]
    if n == m:
        return [tuple(range(m))]
    without = patterns(n, m - 1, True)
    if backwards:
        without.reverse()
    return without + [t + (m - 1,) for t in patterns(n - 1, m - 1, not backwards)]


def pattern_table(n, m):
    return np.array(patterns(n, m), dtype=np.int64).reshape(math.comb(m, n), n)


def nm_blocks(shape, m, axis=1, dims=None):
    """[batch..., rows, blocks, m] of offsets, the tensor's size in padding."""
    at = pad_last(places(shape, dims, axis == 0), m, size_of(shape))
    return at.reshape(at.shape[:-1] + (at.shape[-1] // m, m))


def bcsr_blocks(shape, h, w, dims=None):
    """[block rows of all batches, block columns, h, w] of offsets, the tensor's size in padding."""
    at = pad_last(places(shape, dims), w, size_of(shape))
    at = pad_last(at.swapaxes(-1, -2), h, size_of(shape)).swapaxes(-1, -2)
    rows, cols = at.shape[-2] // h, at.shape[-1] // w
    at = at.reshape((size_of(at.shape[:-2]), rows, h, cols, w)).swapaxes(-2, -3)
    return at.reshape((len(at) * rows, cols, h, w))


def nmg_chunks(shape, n, m, g, axis=0, dims=None):
    """[batch..., row_blocks, chunks, m, strips] of offsets, the tensor's size in padding."""
    size, strips = size_of(shape), math.comb(m, n) * g
    at = pad_last(places(shape, dims, axis == 1), strips, size)
    at = pad_last(at.swapaxes(-1, -2), m, size).swapaxes(-1, -2)
    rows, cols = at.shape[-2] // m, at.shape[-1] // strips
    return at.reshape(at.shape[:-2] + (rows, m, cols, strips)).swapaxes(-2, -3)


def nmgv_tiles(shape, v, w=2, dims=None):
    """[batch..., rows of tiles, columns of tiles, v, w] of offsets, the tensor's size in padding."""
    at = pad_last(places(shape, dims), w, size_of(shape))
    at = pad_last(at.swapaxes(-1, -2), v, size_of(shape)).swapaxes(-1, -2)
    rows, cols = at.shape[-2] // v, at.shape[-1] // w
    return at.reshape(at.shape[:-2] + (rows, v, cols, w)).swapaxes(-2, -3)


def nmgv_split(args):
    """The arguments of nmgv_tiles(), and a function from its result's shape to the shape and the
    arguments of nmg_chunks(), to which a tile is an element."""
    cut = {key: args[key] for key in ("v", "w", "dims") if key in args}
    rest = {key: args[key] for key in ("n", "m", "g", "axis") if key in args}

    def of_tiles(at):
        rank = at.ndim - 2
        return at.shape[:-2], {**rest, "dims": (rank - 2, rank - 1)}

    return cut, of_tiles


def with_tiles(at, tiles, size):
    """Offsets of all elements of the tiles of those numbers, a tile's side by side; at: of
    nmgv_tiles() of a tensor of that size."""
    count, area = size_of(at.shape[:-2]), size_of(at.shape[-2:])
    return np.append(at.reshape(count, area), np.full((1, area), size), axis=0)[tiles]


def scattered(size, at, values):
    """(bits, stored) of `size` elements, `values` put at `at`; padding has to be 0."""
    assert not np.any(values[at == size]), "a value in padding is not 0"
    bits, stored = np.zeros(size + 1, values.dtype), np.zeros(size + 1, bool)
    bits[at] = values
    stored[at] = True
    return bits[:-1], stored[:-1]


def packed_bits(bits):
    return np.packbits(bits, axis=-1, bitorder="little")


def unpacked_bits(packed, count):
    bits = np.unpackbits(packed, axis=-1, bitorder="little")
    assert not bits[..., count:].any(), "spare bits are set"
    return bits[..., :count]


def decode(t):
    """(bits, stored) in the tensor's shape. In nm, nmg and nmgv fillers and padding are stored too."""
    name, a = parse_spec(t.layout)
    size, values = size_of(t.shape), t.parts["values"]
    if name == "dense":
        bits, stored = values.reshape(-1), np.ones(size, bool)
    elif name == "masked":
        stored = unpacked_bits(t.parts["mask"], size).astype(bool)
        bits = values.reshape(-1)
        assert not bits[~stored].any(), "a masked-out value is not 0"
    elif name == "bitmask":
        stored = unpacked_bits(t.parts["mask"], size).astype(bool)
        assert values.shape == (np.count_nonzero(stored),)
        bits = np.zeros(size, values.dtype)
        bits[stored] = values
    elif name == "csr":
        at = places(t.shape, a["dims"])
        lines = at.reshape(size_of(at.shape[:-1]), at.shape[-1])
        ptr, index = t.parts["ptr"], t.parts["index"]
        assert ptr.shape == (len(lines) + 1,) and ptr[0] == 0 and ptr[-1] == len(values)
        line = np.repeat(np.arange(len(lines)), np.diff(ptr))
        assert all(np.all(np.diff(index[b:e]) > 0) for b, e in zip(ptr, ptr[1:]))
        bits, stored = scattered(size, lines[line, index], values)
    elif name == "bcsr":
        at = bcsr_blocks(t.shape, **a)
        ptr, col = t.parts["ptr"], t.parts["col"]
        assert ptr.shape == (len(at) + 1,) and ptr[0] == 0 and ptr[-1] == len(col)
        assert values.shape == (len(col), a["h"], a["w"])
        assert all(np.all(np.diff(col[b:e]) > 0) for b, e in zip(ptr, ptr[1:]))
        at = at[np.repeat(np.arange(len(at)), np.diff(ptr)), col]
        kept = np.ones(at.shape, bool)
        if "mask" in t.parts:
            kept = unpacked_bits(t.parts["mask"], at.size).reshape(at.shape).astype(bool)
            assert not values[~kept].any(), "a pruned value is not 0"
            assert np.all(at[kept] < size), "padding is kept"
            assert not np.all(kept[at < size]), "a mask that prunes nothing"
        bits, _ = scattered(size, at, values)
        stored = np.zeros(size + 1, bool)
        stored[at[kept]] = True
        stored = stored[:-1]
    elif name == "nm":
        n, m = a["n"], a["m"]
        at = nm_blocks(t.shape, m, a.get("axis", 1), a["dims"])
        lead, blocks, w = at.shape[:-2], at.shape[-2], (m - 1).bit_length()
        assert values.shape == lead + (blocks, n), values.shape
        assert t.parts["pos"].shape == lead + (ceil_div(blocks * n * w, 8),)
        pos = unpacked_bits(t.parts["pos"], blocks * n * w).reshape(lead + (blocks, n, w))
        pos = pos @ (1 << np.arange(w, dtype=np.int64))
        assert np.all(np.diff(pos, axis=-1) > 0), "positions do not ascend"
        bits, stored = scattered(size, np.take_along_axis(at, pos, -1), values)
    elif name in ("nmg", "nmgv"):
        n, m, g = a["n"], a["m"], a["g"]
        shape, tiles = t.shape, None
        if name == "nmgv":
            cut, of_tiles = nmgv_split(a)
            tiles = nmgv_tiles(shape, **cut)
            shape, a = of_tiles(tiles)
        at = nmg_chunks(shape, n, m, g, a.get("axis", 0), a["dims"])
        lead, strips, index = at.shape[:-2], at.shape[-1], t.parts["index"]
        table = pattern_table(n, m)
        area = () if tiles is None else (size_of(tiles.shape[-2:]),)
        assert values.shape == lead + (len(table), g, n) + area, values.shape
        assert index.shape == lead + (len(table), g)
        assert index.dtype == (np.uint8 if strips <= 256 else np.uint16)
        units = size_of(lead)
        columns = index.reshape(units, strips).astype(np.int64)
        assert np.array_equal(np.sort(columns), np.tile(np.arange(strips), (units, 1)))
        at = at.reshape(units, m, strips)[
            np.arange(units)[:, None, None, None],
            table[None, :, None, :],
            columns.reshape(units, len(table), g, 1),
        ]
        if tiles is not None:
            at = with_tiles(tiles, at, size)
        bits, stored = scattered(size, at, values.reshape(at.shape))
    else:  # without checks of the parts
        at = reader.places(t.layout, t.shape, **t.parts)
        bits, stored = scattered(size, np.where(at < 0, size, at), values)
    return bits.reshape(t.shape), stored.reshape(t.shape)


def encode(layout, dtype, bits, keep, pattern_of=None, order=None):
    """The tensor that stores exactly the positions of `keep`.

    nmg and nmgv need `pattern_of` [chunks in all, strips], and store the slots of a group in ascending
    order, or shuffled by the generator `order`.
    """
    name, a = parse_spec(layout)
    shape, size = bits.shape, bits.size
    flat, kept = bits.reshape(-1), keep.reshape(-1)
    parts = {}
    if name == "dense":
        parts["values"] = np.where(keep, bits, 0).astype(bits.dtype)
    elif name == "masked":
        parts["values"] = np.where(keep, bits, 0).astype(bits.dtype)
        parts["mask"] = packed_bits(kept)
    elif name == "bitmask":
        parts["mask"] = packed_bits(kept)
        parts["values"] = flat[kept]
    elif name == "csr":
        at = places(shape, a["dims"])
        lines = at.reshape(size_of(at.shape[:-1]), at.shape[-1])
        kept = kept[lines]
        parts["ptr"] = np.append(0, np.cumsum(kept.sum(axis=1))).astype(np.int64)
        parts["index"] = np.nonzero(kept)[1].astype(np.int32)
        parts["values"] = flat[lines[kept]]
    elif name == "bcsr":
        at = bcsr_blocks(shape, **a)
        flat, kept = np.append(flat, bits.dtype.type(0)), np.append(kept, False)
        line, col = np.nonzero(kept[at].any(axis=(-1, -2)))
        parts["ptr"] = np.searchsorted(line, np.arange(len(at) + 1)).astype(np.int64)
        parts["col"] = col.astype(np.int32)
        at = at[line, col]
        parts["values"] = np.where(kept[at], flat[at], 0).astype(bits.dtype)
        if not np.all(kept[at][at < size]):
            parts["mask"] = packed_bits(kept[at].reshape(-1))
    elif name == "csc":
        at = np.moveaxis(places(shape, a["dims"]), -1, -2)
        lines = at.reshape(size_of(at.shape[:-1]), at.shape[-1])
        kept = kept[lines]
        parts["ptr"] = np.append(0, np.cumsum(kept.sum(axis=1))).astype(np.int64)
        parts["index"] = np.nonzero(kept)[1].astype(np.int32)
        parts["values"] = flat[lines[kept]]
    elif name == "coo":
        at = places(shape, a["dims"])
        lines = at.reshape(size_of(at.shape[:-1]), at.shape[-1])
        row, col = np.nonzero(kept[lines])
        parts["row"], parts["col"] = row.astype(np.int32), col.astype(np.int32)
        parts["values"] = flat[lines[row, col]]
    elif name == "ell":
        at = places(shape, a["dims"])
        lines = at.reshape(size_of(at.shape[:-1]), at.shape[-1])
        rows = [np.nonzero(k)[0] for k in kept[lines]]
        w = max((len(r) for r in rows), default=0)
        index = np.full((len(rows), w), -1, np.int32)
        values = np.zeros((len(rows), w), bits.dtype)
        for r, columns in enumerate(rows):
            index[r, : len(columns)] = columns
            values[r, : len(columns)] = flat[lines[r, columns]]
        parts["index"] = index.reshape(at.shape[:-1] + (w,))
        parts["values"] = values.reshape(at.shape[:-1] + (w,))
    elif name == "nm":
        n, m = a["n"], a["m"]
        at = nm_blocks(shape, m, a.get("axis", 1), a["dims"])
        flat, kept = np.append(flat, bits.dtype.type(0)), np.append(kept, False)[at]
        assert np.all(kept.sum(axis=-1) <= n)
        # Free positions become stored, the lowest first, until a block has n.
        missing = n - kept.sum(axis=-1, keepdims=True)
        filled = ~kept & (np.cumsum(~kept, axis=-1) <= missing)
        pos = np.nonzero(kept | filled)[-1].reshape(at.shape[:-1] + (n,))
        here, used = np.take_along_axis(at, pos, -1), np.take_along_axis(kept, pos, -1)
        parts["values"] = np.where(used, flat[here], 0).astype(bits.dtype)
        w = (m - 1).bit_length()
        digits = pos[..., None] >> np.arange(w) & 1
        parts["pos"] = packed_bits(
            digits.astype(np.uint8).reshape(at.shape[:-2] + (at.shape[-2] * n * w,))
        )
    elif name in ("nmg", "nmgv"):
        n, m, g = a["n"], a["m"], a["g"]
        counted, tiles = shape, None
        if name == "nmgv":
            cut, of_tiles = nmgv_split(a)
            tiles = nmgv_tiles(shape, **cut)
            counted, a = of_tiles(tiles)
        at = nmg_chunks(counted, n, m, g, a.get("axis", 0), a["dims"])
        lead, strips, table = at.shape[:-2], at.shape[-1], pattern_table(n, m)
        units = size_of(lead)
        at = at.reshape(units, m, strips)
        flat, kept = np.append(flat, bits.dtype.type(0)), np.append(kept, False)
        columns = np.argsort(pattern_of, axis=-1, kind="stable").reshape(units, len(table), g)
        if order is not None:
            columns = order.permuted(columns, axis=-1)
        here = at[
            np.arange(units)[:, None, None, None],
            table[None, :, None, :],
            columns[..., None],
        ]
        area = ()
        if tiles is not None:
            here, area = with_tiles(tiles, here, size), (size_of(tiles.shape[-2:]),)
        stored = np.zeros(size + 1, bool)
        stored[here] = True
        assert np.all(stored[:-1] | ~keep.reshape(-1)), "the patterns do not contain the mask"
        parts["values"] = np.where(kept[here], flat[here], 0).astype(bits.dtype)
        parts["values"] = parts["values"].reshape(lead + (len(table), g, n) + area)
        index = np.uint8 if strips <= 256 else np.uint16
        parts["index"] = columns.astype(index).reshape(lead + (len(table), g))
    else:
        raise AssertionError(f"layout {layout}")
    return Tensor(layout, shape, dtype, parts)


def payload_bytes(layout, dtype, shape, stored=None):
    """How many bytes the parts have; `stored` counts the kept elements where that matters."""
    name, a = parse_spec(layout)
    w, size = width(dtype), size_of(shape)
    if name == "dense":
        return size * w
    if name == "masked":
        return size * w + ceil_div(size, 8)
    if name == "bitmask":
        return ceil_div(size, 8) + stored * w
    view = [shape[0], size_of(shape[1:])]
    batch = 1
    if a["dims"]:
        view = [shape[d] for d in a["dims"]]
        batch = size_of([k for d, k in enumerate(shape) if d not in a["dims"]])
    rows, cols = view
    if name == "csr":
        return 8 * (batch * rows + 1) + stored * (4 + w)
    n, m = a["n"], a["m"]
    if name == "nm":
        if a.get("axis", 1) == 0:
            rows, cols = cols, rows
        slots = ceil_div(cols, m) * n
        return batch * rows * (slots * w + ceil_div(slots * (m - 1).bit_length(), 8))
    area = 1
    if name == "nmgv":
        v, across = a["v"], a.get("w", 2)
        rows, cols, area = ceil_div(rows, v), ceil_div(cols, across), v * across
    else:
        assert name == "nmg"
    if a.get("axis", 0) == 1:
        rows, cols = cols, rows
    chunk = math.comb(m, n) * a["g"]
    slots = batch * ceil_div(rows, m) * ceil_div(cols, chunk) * chunk
    return slots * (n * area * w + (1 if chunk <= 256 else 2))


# -------------------------------------------------------------------------------- what is kept


def scores(bits, dtype):
    """Magnitudes as they are ranked: in float32, in float64 for F64."""
    values = np.abs(bits.view(FLOATS[dtype]).astype(np.float64 if dtype == "F64" else np.float32))
    assert np.all(np.isfinite(values))
    return values


def llround(x):
    """To the nearest, halves away from 0; x >= 0."""
    down = math.floor(x)
    return down + (x - down >= 0.5)


def magnitude_mask(score, sparsity):
    """The smallest llround(sparsity * N) go, among equals the later first."""
    flat = score.reshape(-1)
    going = np.lexsort((-np.arange(flat.size), flat))[: llround(sparsity * flat.size)]
    keep = np.ones(flat.size, bool)
    keep[going] = False
    return keep.reshape(score.shape)


def per_block_mask(score, n, m, axis=1, dims=None):
    """The n largest of every m stay, among equals the earlier."""
    at = nm_blocks(score.shape, m, axis, dims)
    padded = np.append(score.reshape(-1), -1)[at]  # padding comes last
    best = np.argsort(-padded, axis=-1, kind="stable")[..., :n]
    keep = np.zeros(score.size + 1, bool)
    keep[np.take_along_axis(at, best, -1)] = True
    return keep[:-1].reshape(score.shape)


def greedy_patterns(score, n, m, g, axis=0, dims=None):
    """The paper's rule: the pattern of every strip, [chunks in all, strips].

    Of all (strip, pattern) of a chunk the one that keeps most comes first, among equals the
    higher column, then the higher pattern; it is taken if its strip is free and its group is
    not full.
    """
    at = nmg_chunks(score.shape, n, m, g, axis, dims)
    strips, table = at.shape[-1], pattern_table(n, m)
    at = at.reshape(size_of(at.shape[:-2]), m, strips)
    padded = np.append(score.reshape(-1), 0).astype(score.dtype)
    column = np.tile(np.arange(strips), len(table))
    pattern = np.repeat(np.arange(len(table)), strips)
    chosen = np.full((len(at), strips), -1)
    for unit, chunk in enumerate(at):
        x = padded[chunk]
        kept = x[table[:, 0]]
        for i in range(1, n):  # one after the other, in the precision of the scores
            kept = kept + x[table[:, i]]
        room = [g] * len(table)
        for pair in np.lexsort((-pattern, -column, -kept.reshape(-1))):
            c, p = column[pair], pattern[pair]
            if chosen[unit, c] < 0 and room[p]:
                chosen[unit, c] = p
                room[p] -= 1
    return chosen


def patterns_mask(pattern_of, shape, n, m, g, axis=0, dims=None):
    """The positions that lie on the pattern of their strip."""
    at = nmg_chunks(shape, n, m, g, axis, dims)
    at = at.reshape(size_of(at.shape[:-2]), m, at.shape[-1])
    rows = pattern_table(n, m)[pattern_of]
    keep = np.zeros(size_of(shape) + 1, bool)
    keep[np.take_along_axis(at, rows.swapaxes(-1, -2), 1)] = True
    return keep[:-1].reshape(shape)


def magnitudes(bits, dtype, keep):
    """(sum over the kept, sum over all) in double; energy is their ratio."""
    size = np.abs(bits.view(FLOATS[dtype]).astype(np.float64))
    return size[keep].sum(), size.sum()


def energy(kept, total):
    return kept / total if total > 0 else 1.0
