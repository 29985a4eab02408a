# SPDX-License-Identifier: Apache-2.0
"""Whole programs against numpy: random checkpoints are pruned, converted and measured, and every
bit and number of the results is compared."""

import json
import math

import numpy as np
from _harness import HANG, Failure
from _models import (
    by_blocks_of_m,
    by_global_magnitude,
    by_magnitude,
    by_threshold,
    check_blocks,
    generator,
    greedy_energy,
    nmg_holds,
    not_finite,
    random_model,
    random_shape,
    ranked,
    write_model,
)
from _reference import (
    BYTE_DTYPES,
    FLOATS,
    bits_type,
    decode,
    encode,
    entries_of,
    entry,
    file_bytes,
    read_file,
    size_of,
    tensors_of,
)
from _samples import any_bits, nm_mask, nmg_mask

FILES = 24  # in a run of sten-prune
POSITIONS = ["masked", "bitmask", "csr", "csc", "coo", "ell", "bcsr:h=2,w=3", "bcsr:h=4,w=4"]
NM = ["nm:n=2,m=4", "nm:n=1,m=4,axis=0", "nm:n=3,m=7", "nm:n=1,m=16", "nm:n=4,m=4"]
NMG = ["nmg:n=1,m=4,g=2", "nmg:n=2,m=4,g=1", "nmg:n=1,m=10,g=4", "nmg:n=2,m=4,g=2,axis=1", "nmg:n=1,m=3,g=5"]


def need(holds, text):
    if not holds:
        raise Failure(text)


def close(got, expected, what, within=1e-9):
    need(abs(got - expected) <= within * max(abs(expected), 1e-300), f"{what} is {got}, not {expected}")


# -------------------------------------------------------------------------------------- ways


class PruneCase:
    """Flags for sten-prune, and what they have to keep: a mask for each tensor, or a check."""

    def __init__(self, flags, keep=None, check=None, layouts=("dense", *POSITIONS), rank=None, nan=None):
        self.flags, self.keep, self.check, self.layouts, self.rank, self.nan = (
            flags,
            keep,
            check,
            layouts,
            rank,
            nan,
        )


def random_sparsity(rng):
    return rng.choice([0.0, 1.0, 0.5, 0.25, 0.9, rng.random(), rng.random(), rng.randrange(64) / 64])


def random_case(rng):
    kind = rng.choice(
        ["magnitude"] * 4 + ["global", "threshold", "block", "random", "nm", "nm", "nmg", "nmg", "nan"]
    )
    s = random_sparsity(rng)
    if kind == "magnitude":
        return PruneCase(["--sparsity", repr(s)], lambda es: by_magnitude(es, s))
    if kind == "global":
        return PruneCase(["--sparsity", repr(s), "--scope", "global"], lambda es: by_global_magnitude(es, s))
    if kind == "threshold":
        at = rng.choice([0.0, 0.25, 0.5, 1.0, rng.random()])
        return PruneCase(["--method", "threshold", "--at", repr(at)], lambda es: by_threshold(es, at))
    if kind == "block":
        h, w = rng.randint(1, 5), rng.randint(1, 5)
        return PruneCase(
            ["--sparsity", repr(s), "--structure", f"block:h={h},w={w}"],
            check=lambda e, keep: check_blocks(e, keep, s, h, w),
        )
    if kind == "random":
        return PruneCase(
            ["--sparsity", repr(s), "--method", "random", "--seed", str(rng.randrange(1 << 40))],
            check=lambda e, k: None,
        )
    if kind == "nan":
        policy = rng.choice(["keep", "zero", "error"])
        return PruneCase(["--sparsity", repr(s), "--nan", policy], lambda es: by_magnitude(es, s), nan=policy)
    spec = rng.choice(NM if kind == "nm" else NMG)
    rank = None
    if rng.random() < 0.3:
        rank, dims = rng.choice([(3, "1.2"), (3, "0.2"), (4, "2.3"), (3, "2.1"), (2, "1.0")])
        spec += f",dims={dims}"
    layouts = ("dense", "masked", "bitmask", "csr", spec, spec, spec)
    if kind == "nm":
        return PruneCase(["--structure", spec], lambda es: by_blocks_of_m(es, spec), layouts=layouts, rank=rank)
    fit = rng.choice(["", ",fit=greedy", ",fit=heuristic", ",fit=exact"])

    def check(e, keep):
        need(nmg_holds(keep, spec), f"{e.name} does not have {spec}")
        greedy, magnitude = greedy_energy(e, spec)
        kept = ranked(e.array(), e.dtype)[keep].astype("f8").sum()
        if fit == ",fit=greedy":
            told = e.array() != 0  # whether a zero was kept is not to be seen
            need(np.array_equal(greedy & told, keep & told), f"{e.name}: not the paper's choice for {spec}")
        elif fit != ",fit=heuristic":
            need(
                kept >= magnitude * (1 - 1e-5), f"{e.name}: keeps {kept}, less than the {magnitude} of greedy"
            )

    return PruneCase(["--structure", spec + fit], check=check, layouts=layouts, rank=rank)


# ------------------------------------------------------------------------------------ checks


def same_bits(got, expected, what):
    need(got.shape == expected.shape, f"{what}: shape {got.shape}, not {expected.shape}")
    if not np.array_equal(got, expected):
        at = np.argwhere(got != expected)
        need(False, f"{what}: {len(at)} elements differ, the first at {tuple(int(i) for i in at[0])}")


def check_others(before, after, changed, what):
    """What was not selected is the same, and all are in their order."""
    names = []
    for e in after.entries:
        name = e.name.rpartition("::")[0] if e.name.rpartition("::")[0] in changed else e.name
        if not names or names[-1] != name:
            names.append(name)
    need(names == before.names(), f"{what}: tensors are {names}, not {before.names()}")
    for e in before.entries:
        if e.name not in changed:
            need(vars(after[e.name]) == vars(e), f"{what}: '{e.name}' was not to be changed")
    for key, text in (before.metadata or {}).items():
        need((after.metadata or {}).get(key) == text, f"{what}: metadata '{key}' is lost")


def check_pruned(case, layout, original, pruned, row, names):
    """One output of sten-prune, and its row in the summary."""
    before, after = read_file(original), read_file(pruned)
    check_others(before, after, set(names), pruned.name)
    tensors = tensors_of(after)
    selected = [before[name] for name in names]
    wanted = case.keep(selected) if case.keep else None
    elements = zeros = bytes_after = 0
    kept_sum = all_sum = 0.0
    for e in selected:
        t, bits = tensors[e.name], e.array()
        got, stored = decode(t)
        bad = not_finite(bits, e.dtype)
        if case.nan == "zero":
            bits = np.where(bad, 0, bits).astype(bits.dtype)
            wanted[e.name] = by_magnitude([entry(e.name, e.dtype, bits)], float(case.flags[1]))[e.name]
        if wanted is not None:
            keep = wanted[e.name]
        else:
            # A position is kept where its bits are there; a kept zero shows in some layouts only.
            hides_zeros = t.layout.startswith(("dense", "nm"))
            keep = got != 0 if hides_zeros else stored
            if (hides_zeros or case.flags[-1].startswith("block")) and np.any((bits == 0) & ~keep):
                keep = None  # which of the zeros stayed is not to be seen
        if keep is None:
            same_bits(np.where(got != 0, bits, 0).astype(bits.dtype), got, f"{pruned.name} '{e.name}'")
        elif bad.any() and case.nan == "keep":
            need(
                not np.any(bad & (got == 0)) or np.all(bad | (got == 0)),
                f"'{e.name}': a number stayed before NaN",
            )
        else:
            same_bits(got, np.where(keep, bits, 0).astype(bits.dtype), f"{pruned.name} '{e.name}' {t.layout}")
            if wanted is not None and not t.layout.startswith(("dense", "nm")):
                need(
                    np.array_equal(stored, keep),
                    f"{pruned.name} '{e.name}' {t.layout}: other positions are stored",
                )
            if case.check:
                case.check(e, keep)
        size = np.abs(bits.view(FLOATS[e.dtype]).astype("f8"))
        elements += bits.size
        zeros += np.count_nonzero(ranked(got, e.dtype) == 0)
        bytes_after += sum(p.nbytes for p in t.parts.values())
        if wanted is not None:
            kept_sum, all_sum = kept_sum + size[wanted[e.name]].sum(), all_sum + size.sum()
    need(row["elements"] == elements, f"elements: {row['elements']}, not {elements}")
    need(row["bytes_after"] == bytes_after, f"bytes after: {row['bytes_after']}, not {bytes_after}")
    close(row["sparsity"], zeros / elements if elements else 0, "sparsity", 1e-12)
    need(row["kept"] == elements - zeros, f"kept: {row['kept']}, not {elements - zeros}")
    if wanted is not None and math.isfinite(all_sum):
        check_ratio(row, kept_sum, all_sum, elements, "energy")
    return tensors


def check_ratio(row, kept, whole, elements, what):
    """The energy of a row; an empty tensor has none."""
    need(("energy" in row) == (elements > 0), f"{what}: {row.get('energy')} of {elements} elements")
    if elements:
        close(row["energy"], kept / whole if whole > 0 else 1, what)


def check_energy(a, original, pruned, names):
    r = a.report("energy", pruned, "--against", original)
    need({row["name"] for row in r["tensors"]} == set(names), "rows of energy")
    before, tensors = read_file(original), tensors_of(read_file(pruned))
    kept_sum = all_sum = 0.0
    elements = 0
    for row in r["tensors"]:
        t, what = tensors[row["name"]], row["name"]
        bits, stored = decode(t)
        number = ranked(bits, t.dtype) != 0
        # A zero that is stored is not told from an empty place by all layouts.
        places_told = t.layout.partition(":")[0] not in ("dense", "nm", "nmg")
        count = int((stored if t.layout != "dense" else number).sum())  # -0.0 is a zero
        need(row["nnz"] == count, f"{what} {t.layout}: nnz is {row['nnz']}, not {count}")
        need(
            row["shape"] == list(t.shape) and row["dtype"] == t.dtype and row["layout"] == t.layout,
            f"{what}: {row}",
        )
        close(row["sparsity"], 1 - number.sum() / bits.size if bits.size else 0, f"{what} sparsity", 1e-12)
        need(row["bytes"] == sum(p.nbytes for p in t.parts.values()), f"{what}: bytes {row['bytes']}")
        need(row["bytes_dense"] == bits.nbytes, f"{what}: bytes_dense {row['bytes_dense']}")
        old = np.abs(before[what].array().view(FLOATS[t.dtype]).astype("f8"))
        kept = old[stored if places_told else number].sum()
        check_ratio(row, kept, old.sum(), bits.size, f"{what} energy")
        kept_sum, all_sum = kept_sum + kept, all_sum + old.sum()
        elements += bits.size
    check_ratio(r["total"], kept_sum, all_sum, elements, "total energy")
    need(r["file_bytes"] == pruned.stat().st_size, "file_bytes")


def ell_holds(keep):
    lines = keep.reshape(keep.shape[0], size_of(keep.shape[1:]))
    longest = int(lines.sum(1).max()) if lines.size else 0
    return len(lines) * longest <= 4 * int(lines.sum()) + len(lines)


def prune_many(a, rng, folder):
    """One run over many files; every output, and its numbers."""
    case = random_case(rng)
    layout = rng.choice(case.layouts)
    (folder / "in").mkdir()
    names = {}
    for i in range(FILES):
        entries, pruned = random_model(rng, case.rank, case.nan is not None)
        path = folder / "in" / f"{i}.safetensors"
        write_model(rng, path, entries)
        names[path] = pruned
    inputs = [f"in/{path.name}" for path in names]
    command = [*inputs, "--out-dir", "out", *case.flags, "--to", layout, "--keep-going", "-f", "-q", "--json"]
    end = a.sten("prune", *command, "--threads", rng.choice("123"), patience=3 * HANG, cwd=folder)
    a.judge(end, sum(p.stat().st_size for p in names), codes=(0, 1), several=True)
    rows = {row["name"]: row for row in json.loads(end.out)["inputs"]}
    done = []
    for path, pruned in names.items():
        row, out = rows[f"in/{path.name}"], folder / "out" / path.name
        file = read_file(path)
        selected = [file[name] for name in pruned]
        refused = case.nan == "error" and any(not_finite(e.array(), e.dtype).any() for e in selected)
        if layout == "ell" and case.keep and not refused and case.nan is None:
            refused = not all(map(ell_holds, case.keep(selected).values()))
        elif layout == "ell" and row["status"] == "failed":
            refused = True
        if refused:
            need(row["status"] == "failed" and not out.exists(), f"{path.name}: was to be refused: {row}")
            continue
        need(row["status"] == "done", f"{path.name} failed: {row.get('error')}")
        try:
            check_pruned(case, layout, path, out, row, pruned)
        except (AssertionError, KeyError) as e:
            raise Failure(f"{path.name}: {type(e).__name__} {e}") from e
        done.append((path, out, pruned))
        a.count("files")
        a.count("tensors", len(pruned))
    if case.nan is None:
        for path, out, pruned in rng.sample(done, min(3, len(done))):
            check_energy(a, path, out, pruned)
            a.count("files")
    return f"{' '.join(case.flags)} --to {layout}: {len(done)} of {len(names)} files"


def encoded(rng, name):
    """(entries, metadata, bits, what is stored, layout) of a tensor that numpy stores in any layout."""
    dtype = rng.choice(BYTE_DTYPES)
    layout = rng.choice(["dense", *POSITIONS, *NM, *NMG])
    g, shape = generator(rng), random_shape(rng, None, 300)
    bits = any_bits(g, dtype, shape, rng.choice([0.05, 0.4, 0.9]))
    pattern_of = None
    kind, _, rest = layout.partition(":")
    a = {k: int(v) for k, v in (item.split("=") for item in rest.split(",") if item)}
    if kind == "nm":
        keep = nm_mask(g, shape, **a)
    elif kind == "nmg":
        keep, pattern_of = nmg_mask(g, shape, **a)
    else:
        keep = g.random(shape) < rng.choice([0.1, 0.5, 1.0])
        if kind == "ell" and not ell_holds(keep):
            keep = np.ones(shape, bool)
        if kind == "dense":
            keep = np.ones(shape, bool)
    if dtype == "BOOL" and kind in ("nm", "nmg"):
        dtype = "U8"
    t = encode(layout, dtype, bits, keep, pattern_of, g if rng.random() < 0.5 else None)
    entries, text = entries_of(name, t)
    return entries, text, np.where(keep, bits, 0).astype(bits.dtype), layout


def convert_chain(a, rng, folder):
    """A file of tensors in all layouts, by numpy, from layout to layout and back to dense."""
    for n in range(4):
        entries, metadata, wanted = [], {}, {}
        for i in range(rng.randint(1, 8)):
            name = f"t.{i}.weight"
            more, text, bits, _ = encoded(rng, name)
            entries += more
            wanted[name] = bits
            if text:
                metadata[f"sten:{name}"] = text
        at = folder / f"c{n}.safetensors"
        at.write_bytes(file_bytes(entries, metadata))
        chain = [rng.choice(["dense", *POSITIONS[:5], *POSITIONS[6:]]) for _ in range(3)] + ["dense"]
        stored = {name: decode(t)[1] for name, t in tensors_of(read_file(at)).items()}
        for step, to in enumerate(chain):
            out = folder / f"c{n}-{step}.safetensors"
            a.must("convert", at, "-o", out, "--to", to, "--include", "*", "-q", "--summary")
            tensors = tensors_of(read_file(out))
            for name, bits in wanted.items():
                t = tensors[name]
                got, now = decode(t)
                same_bits(got, bits, f"'{name}' in {t.layout} after {chain[: step + 1]}")
                if t.layout not in ("dense",):
                    need(
                        not np.any(now & ~stored[name]), f"'{name}': {t.layout} stores places that were empty"
                    )
                    need(np.all(now | (bits == 0)), f"'{name}': {t.layout} lost places")
                stored[name] = now
            a.count("files")
            a.count("tensors", len(wanted))
            at = out
        for name, bits in wanted.items():
            need(
                tensors[name].dtype and tensors[name].parts["values"].dtype == bits_type(tensors[name].dtype),
                name,
            )
    return "conversions through " + ", ".join(chain)


def prune_by_mask(a, rng, folder):
    """--mask and --mask-out, and dense files converted to nm and nmg."""
    entries, pruned = random_model(rng)
    path, masks = folder / "m.safetensors", folder / "masks.safetensors"
    write_model(rng, path, entries)
    g = generator(rng)
    keep = {e.name: g.random(e.shape) < 0.5 for e in entries if e.name in pruned}
    masks.write_bytes(file_bytes([entry(n, "BOOL", k.astype("u1")) for n, k in keep.items()]))
    out, again, to = (
        folder / "out.safetensors",
        folder / "again.safetensors",
        rng.choice(["dense", *POSITIONS[:5]]),
    )
    r = a.report("prune", path, "-o", out, "--mask", masks, "--mask-out", again, "--to", to)
    tensors, used = tensors_of(read_file(out)), read_file(again)
    kept = 0
    for e in entries:
        if e.name not in keep:
            continue
        got, _ = decode(tensors[e.name])
        same_bits(got, np.where(keep[e.name], e.array(), 0).astype(got.dtype), f"'{e.name}' under its mask")
        kept += int(np.count_nonzero(ranked(got, e.dtype)))
        same_bits(used[e.name].array(), keep[e.name].astype("u1"), f"the mask of '{e.name}'")
    need(r["total"]["kept"] == kept, "kept under masks")
    check_energy(a, path, out, pruned)
    a.count("files", 3)
    a.count("tensors", len(pruned))
    return f"masks to {to}"


def play(a, rng, folder):
    kind = rng.random()
    if kind < 0.75:
        return prune_many(a, rng, folder)
    return convert_chain(a, rng, folder) if kind < 0.93 else prune_by_mask(a, rng, folder)
