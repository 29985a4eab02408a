# SPDX-License-Identifier: Apache-2.0
"""Small inputs that describe much: each ends in time and within memory that its size allows.

A module has FORMATS: the bombs of a format by name, each what makes one of about so many bytes, and
the commands that read it. A bomb is the bytes of the file IN, or the files of a folder by their names.
Bombs grow by four from one level to the next, and the seed of a round says which one it plays: the
smallest of every format first.
"""

import importlib
import importlib.util
import itertools
import os
import traceback

from _harness import HANG, Failure, remove
from hostile import attack_file, size_below

MODULES = ["bombs_torch", "bombs_tokenizer", "bombs_images", "bombs_files", "bombs_onnx"]
SIZES = [16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20]


def formats():
    """(name, bombs, commands)."""
    for module in filter(importlib.util.find_spec, MODULES):
        for name, (bombs, commands) in importlib.import_module(module).FORMATS.items():
            yield name, bombs, commands


def all_bombs():
    """(format, name, maker, commands, size) of every bomb, in the order of seeds."""
    each = [[(f, name, bomb, commands) for name, bomb in bombs.items()] for f, bombs, commands in formats()]
    for size in SIZES:
        for row in itertools.zip_longest(*each):
            yield from ((*bomb, size) for bomb in row if bomb)


def write_bomb(make, size, folder):
    """The exit code of a process that does it."""
    try:
        content = make(size)
        files = content if isinstance(content, dict) else {"in": content}
        for path, data in files.items():
            path = folder / path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return 0
    except Exception:
        traceback.print_exc()
        return 1


def play(a, rng, folder):
    order = list(all_bombs())
    kind, name, make, commands, size = order[a.seed % len(order)]
    # In a child: what a program is started from counts in its peak memory.
    child = os.fork()
    if child == 0:
        os._exit(write_bomb(make, size, folder))
    if os.waitpid(child, 0)[1] != 0:
        raise RuntimeError(f"{kind}: {name}: the bomb could not be made")
    total = size_below(folder)
    said = []
    for command in commands:
        # Processor time counts, so that a busy machine changes nothing.
        end = attack_file(a, rng, folder, command, folder / "in", folder / "out", size=total, patience=6 * HANG)
        if end.processor > HANG * a.slowness:
            raise Failure(f"{kind}: {name}, {total} bytes: took {end.processor:.0f} s of processors")
        for left in folder.glob("out*"):
            remove(left)
        line = "; ".join(end.lines()[:1]).replace(str(folder), "")
        said.append(f"{end.processor:.2f} s, {end.memory >> 20} MB{line and ', '}{line[:120]}")
    return f"{kind}: {name}, {total} bytes: " + " | ".join(said)
