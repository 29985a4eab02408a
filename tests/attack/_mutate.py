# SPDX-License-Identifier: Apache-2.0
"""Damage to bytes and to JSON."""

import copy
import json

INTERESTING = [
    0,
    1,
    2,
    3,
    7,
    8,
    0x20,
    0x22,
    0x2C,
    0x30,
    0x5B,
    0x5C,
    0x5D,
    0x7B,
    0x7D,
    0x7F,
    0x80,
    0xC0,
    0xFE,
    0xFF,
]


def bytes_of(rng, data):
    """A few bytes changed, inserted, taken out or moved, or the end cut off."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 16])):
        if not data:
            return bytes(rng.randbytes(rng.randrange(20)))
        at, kind = rng.randrange(len(data)), rng.random()
        length = min(rng.choice([1, 1, 2, 4, 8, 64]), len(data) - at)
        if kind < 0.3:
            data[at] ^= 1 << rng.randrange(8)
        elif kind < 0.5:
            data[at] = rng.choice(INTERESTING)
        elif kind < 0.6:
            data[at : at + length] = rng.randbytes(length)
        elif kind < 0.7:
            del data[at : at + length]
        elif kind < 0.8:
            data[at:at] = data[at : at + length] * rng.choice([1, 2, 30])
        elif kind < 0.9:
            del data[at:]
        else:
            data[at : at + length] = bytes(length)
    return bytes(data)


class Raw:
    """Text that stands in JSON as it is."""

    def __init__(self, text):
        self.text = text


def deep(rng):
    n = rng.choice([33, 65, 200, 3000, 100000])
    return Raw(rng.choice(["[" * n + "]" * n, '{"a":' * n + "1" + "}" * n, "[" * n]))


def odd_value(rng):
    return rng.choice(
        [
            None,
            True,
            False,
            [],
            {},
            "",
            "x",
            0,
            -1,
            1,
            1.5,
            -0.0,
            2**31,
            2**32,
            2**53 + 1,
            2**63,
            2**64,
            -(2**63),
        ]
        + [[[]], [None], {"": None}, [2**40, 0], [0, 3 * 10**9], [2**62, 4], ["a"] * 50, [0] * 40]
        + [
            "..",
            "../x",
            "/dev/zero",
            "/dev/stdin",
            ".",
            "a\nb",
            "\x1b]0;x\x07",
            "=1+1",
            "\u202e",
            "a" * 5000,
            "*",
            "re:(",
            "re:(a*)*b",
        ]
        + [
            "nmg:n=1,m=65536",
            "nm:n=2,m=4",
            "csr",
            "coo",
            "masked",
            "dense",
            "nmg:n=8,m=16,g=4",
            "bcsr:h=65536,w=1",
        ]
        + ["magnitude:sparsity=0.5", "magnitude:sparsity=nan", "F32", "F64", "I64", "BOOL", "F4", "F33"]
        + [
            Raw(t)
            for t in (
                "1e400",
                "-1e400",
                "NaN",
                "Infinity",
                "1e-400",
                '"\\ud800"',
                "01",
                "'a'",
                '"\xff',
                "9" * 400,
                '{"a":1,"a":2}',
            )
        ]
        + [deep(rng)]
    )


def _paths(value, at=()):
    yield at
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        yield from _paths(child, (*at, key))


def edited(rng, value):
    """One place of a JSON value changed."""
    value = copy.deepcopy(value)
    where = rng.choice(list(_paths(value)))
    if not where:
        return odd_value(rng) if rng.random() < 0.2 else value
    parent = value
    for key in where[:-1]:
        parent = parent[key]
    key, kind = where[-1], rng.random()
    old = parent[key]
    if kind < 0.15:
        del parent[key]
    elif kind < 0.25 and isinstance(parent, dict):
        parent[
            rng.choice(["extra", "", "\x1b[31m", "__metadata__", "schema", "name", "a" * 3000, "x::values"])
        ] = old
    elif kind < 0.35 and isinstance(parent, dict):
        parent[str(key) + rng.choice(["x", " ", "\0", "é"])] = parent.pop(key)
    elif kind < 0.6 and isinstance(old, (int, float)) and not isinstance(old, bool):
        parent[key] = rng.choice(
            [old + 1, old - 1, old * 2, -old, old * 2**32, old + 0.5 if abs(old) < 1 << 1000 else 0.5, old * 10**6, 0, 1 << 62]
        )
    elif kind < 0.7 and isinstance(old, list):
        old.append(odd_value(rng) if rng.random() < 0.5 else old[0] if old else 1)
    else:
        parent[key] = odd_value(rng)
    return value


def text_of(value):
    """JSON text, with what is raw as it is."""
    raw = []

    def plain(v):
        if isinstance(v, Raw):
            raw.append(v.text)
            return f"@raw{len(raw) - 1}@"
        if isinstance(v, dict):
            return {k: plain(x) for k, x in v.items()}
        return [plain(x) for x in v] if isinstance(v, list) else v

    text = json.dumps(plain(value), ensure_ascii=False)
    for i, r in enumerate(raw):
        text = text.replace(f'"@raw{i}@"', r)
    return text.encode("utf-8", "surrogateescape") if "\udcff" in text else text.encode("utf-8", "replace")


def json_of(rng, data):
    """JSON text damaged in its structure, or in its bytes."""
    if rng.random() < 0.25:
        return bytes_of(rng, data)
    try:
        value = json.loads(data)
    except ValueError:
        return bytes_of(rng, data)
    for _ in range(rng.choice([1, 1, 2, 3])):
        value = edited(rng, value) if not isinstance(value, Raw) else value
    return text_of(value)


def rows_of(rng, data):
    """A file of one JSON object a line."""
    lines = data.splitlines() or [b"{}"]
    at = rng.randrange(len(lines))
    kind = rng.random()
    if kind < 0.5:
        lines[at] = json_of(rng, lines[at])
    elif kind < 0.6:
        del lines[at]
    elif kind < 0.7:
        lines.insert(at, rng.choice(lines))
    elif kind < 0.8:
        rng.shuffle(lines)
    else:
        return bytes_of(rng, data)
    return b"\n".join(lines) + b"\n"
