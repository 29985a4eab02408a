#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks the programs: see scripts/attack.sh, which finds them and a Python with numpy."""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "interop")]

import bombs
import differential
import faults
import hostile
import kills
import trees
from _harness import Attack

# What plays a round of each, and how many rounds ctest has: by count, so that each time it is the
# same. Where sanitizers make programs slow it has an eighth of them.
PARTS = {
    "differential": (differential.play, 80),
    "hostile": (hostile.play, 24),
    "faults": (faults.play, 4),
    "kills": (kills.play, 4),
    "trees": (trees.play, 120),
    "bombs": (bombs.play, 27),
}


def options():
    p = argparse.ArgumentParser(prog="scripts/attack.sh", description=__doc__)
    p.add_argument("--part", default="all", help=", ".join(PARTS) + ", or all (default); several with commas")
    p.add_argument("--seconds", type=float, help="go on for so long, all parts in turn")
    p.add_argument("--rounds", type=int, help="rounds of each part (default: those of ctest)")
    p.add_argument("--seed", type=int, help="of the first round; later rounds count on from it")
    p.add_argument("--bin", help="folder of the programs")
    p.add_argument("--keep", action="store_true", help="leave the folders of rounds that failed")
    p.add_argument("--quiet", action="store_true", help="no line for rounds that went well")
    o = p.parse_args()
    o.parts = list(PARTS) if o.part == "all" else o.part.split(",")
    for part in o.parts:
        if part not in PARTS:
            p.error(f"there is no part '{part}'")
    return o


def rounds(o, seed, sanitized):
    """(part, seed, number) of what is to be played."""
    if o.seconds is None:
        for part in o.parts:
            usual = -(-PARTS[part][1] // 8) if sanitized else PARTS[part][1]
            for i in range(o.rounds or usual):
                yield part, seed + i, i + 1
        return
    until = time.monotonic() + o.seconds
    spent, played = dict.fromkeys(o.parts, 0.0), dict.fromkeys(o.parts, 0)
    while time.monotonic() < until:
        part = min(o.parts, key=lambda p: spent[p])  # the same time for each
        begin = time.monotonic()
        yield part, seed + played[part], played[part] + 1
        played[part] += 1
        spent[part] += time.monotonic() - begin


def main():
    o = options()
    seed = o.seed if o.seed is not None else int.from_bytes(os.urandom(4), "little")
    attack = Attack(o.bin, keep=o.keep, quiet=o.quiet)
    kind = "sanitized" if attack.sanitized else "plain"
    print(f"attack on {attack.bin} ({kind}); --seed {seed}", flush=True)
    begin = time.monotonic()
    # However it is ended, what it runs ends too, and its folders go.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        for part, at, number in rounds(o, seed, attack.sanitized):
            attack.play(part, PARTS[part][0], at, number, on_disk=part in ("kills", "faults"))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    finally:
        attack.close()
    kills, middle = attack.counts.get("kills", 0), attack.counts.get("kills in the middle", 0)
    if kills >= 20 and 2 * middle < kills:
        attack.record("kills", seed, f"of {kills} kills only {middle} came in the middle of writing")
    counts = ", ".join(f"{n} {what}" for what, n in attack.counts.items())
    print(f"{time.monotonic() - begin:.0f} s: {counts}; {len(attack.failures)} failures", flush=True)
    for part, at, text in attack.failures[:50]:
        print(f"  --part {part} --seed {at} --rounds 1: {text.splitlines()[0][:300]}", flush=True)
    return 1 if attack.failures else 0


if __name__ == "__main__":
    sys.exit(main())
