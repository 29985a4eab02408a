# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at random moments: outputs are the old or the new ones, and the next run removes what was
left."""

import os
import signal
import time

from _harness import Failure, hidden, remove
from _models import generator
from _mutate import text_of
from _reference import entry, file_bytes
from hostile_state import RECIPE, data_csv

KILLS = 3  # of each scenario in a round


def model_files(rng, folder):
    """A checkpoint as a file and as a directory, large enough that writing takes a while."""
    g = generator(rng)
    entries = [
        entry(f"layer.{i}.weight", "F32", g.standard_normal((200, 1000)).astype("f4")) for i in range(6)
    ]
    (folder / "in.safetensors").write_bytes(file_bytes(entries))
    base = folder / "in"
    (base / "extra").mkdir(parents=True)
    index = {"weight_map": {}}
    for i in range(3):
        name = f"model-{i + 1:05}-of-00003.safetensors"
        part = entries[2 * i : 2 * i + 2]
        (base / name).write_bytes(file_bytes(part, {"format": "pt"}))
        index["weight_map"].update({e.name: name for e in part})
    (base / "model.safetensors.index.json").write_bytes(text_of(index))
    (base / "config.json").write_text('{"model_type": "bert"}')
    (base / "extra" / "vocab.txt").write_text("vocabulary\n")
    small = [entry(f"layer.{i}.weight", "F32", g.standard_normal((100, 100)).astype("f4")) for i in range(4)]
    (folder / "small.safetensors").write_bytes(file_bytes(small))
    (folder / "data.csv").write_text(data_csv(rng))
    (folder / "recipe.json").write_bytes(
        text_of({**RECIPE, "steps": 160, "products": "own", "checkpoints": {"every": 20, "keep": 3}})
    )


def content(path):
    """What is at a path: bytes of a file, files of a directory, or None."""
    if not path.exists():
        return None
    if path.is_file():
        return path.read_bytes()
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


class Scenario:
    """A command that writes OUT, whether over an old one, and how it is taken up again."""

    def __init__(self, name, program, arguments, over=False, again=("-f",), state=None):
        self.name, self.program, self.arguments = name, program, arguments
        self.over, self.again, self.state = over, again, state


STAGES = ["small.safetensors", "-o", "OUT", "--schedule", "iterative:from=0.1,to=0.5,step=0.2", "-q"]
STAGES += ["--finetune", "cp {in} {out}", "--state", "STATE", "--threads", "1"]
SCENARIOS = [
    Scenario("sten-prune to a file", "prune", ["in.safetensors", "-o", "OUT", "--sparsity", "0.7", "-q"]),
    Scenario(
        "sten-prune over a file",
        "prune",
        ["in.safetensors", "-o", "OUT", "--sparsity", "0.7", "-q", "-f"],
        over=True,
    ),
    Scenario(
        "sten-prune to a directory", "prune", ["in", "-o", "OUT", "--sparsity", "0.7", "--to", "csr", "-q"]
    ),
    Scenario(
        "sten-prune over a directory",
        "prune",
        ["in", "-o", "OUT", "--sparsity", "0.7", "--to", "csr", "-q", "-f"],
        over=True,
    ),
    Scenario("sten-convert to a file", "convert", ["in.safetensors", "-o", "OUT", "--to", "bitmask", "-q"]),
    Scenario(
        "sten-convert over a directory", "convert", ["in", "-o", "OUT", "--to", "csr", "-q", "-f"], over=True
    ),
    Scenario("sten-prune --schedule", "prune", STAGES, again=("--resume", "-f"), state="STATE"),
    Scenario(
        "sten-train",
        "train",
        ["recipe.json", "--out", "OUT", "-q", "--threads", "1"],
        again=("--resume",),
        state="OUT",
    ),
]


def unfinished(child, place):
    """Whether the process has something in `place` that has no name yet, or a hidden one."""
    try:
        for fd in os.listdir(f"/proc/{child.pid}/fd"):
            at = os.readlink(f"/proc/{child.pid}/fd/{fd}")
            if at.startswith(f"{place}/") and ("(deleted)" in at or ".sten-" in at):
                return True
    except OSError:
        return False
    return any(".sten-" in name for name in os.listdir(place))


def begun(child, place, scenario):
    """Whether the process is at writing; one that keeps a state is, from its first file on."""
    if scenario.state:
        return (place / scenario.state).exists()
    return unfinished(child, place)


def ended(child):
    return child.poll() is not None


def commands(a, scenario, again=False):
    words = [
        w.replace("STATE", "work/STATE") if w == "STATE" else "work/OUT" if w == "OUT" else w
        for w in scenario.arguments
    ]
    more = [w for w in scenario.again if w not in words] if again else []
    return [a.program(scenario.program), *words, *more]


def wait_until(child, holds, seconds=60):
    until = time.monotonic() + seconds
    while not ended(child) and time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.0002)
    return False


def watched(a, scenario, folder):
    """How long it takes to the first thing that is unfinished, and from there to the end."""
    place, start = folder / "work", time.monotonic()
    child = a.start(commands(a, scenario), cwd=folder)
    wait_until(child, lambda: begun(child, place, scenario))
    first = time.monotonic()
    child.wait()
    return first - start, time.monotonic() - first


def kill_once(a, rng, folder, scenario, old, new, times):
    place = folder / "work"
    out = place / "OUT"
    remove(place)
    place.mkdir()
    if scenario.over:
        a.judge(a.run([*old, scenario.arguments[0]], cwd=folder), 10**8, codes=(0,))
    before = content(out)
    child = a.start(commands(a, scenario), cwd=folder)
    if rng.random() < 0.1:
        time.sleep(rng.random() * sum(times))
    else:
        wait_until(child, lambda: begun(child, place, scenario))
        time.sleep(rng.random() * times[1] * 0.9)
    middle = False
    if not ended(child):
        child.send_signal(signal.SIGSTOP)
        # What stands still does not finish between the look and the kill.
        time.sleep(0.001)
        middle = begun(child, place, scenario) and not ended(child)
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    a.count("kills")
    a.count(f"kills of {scenario.name}")
    if middle:
        a.count("kills in the middle")
        a.count(f"in the middle of {scenario.name}")
    now = content(out)
    if not scenario.state and now not in (before, new):
        raise Failure(f"{scenario.name}: killed, it left neither the old nor the new output")
    again = a.run(commands(a, scenario, again=True), cwd=folder)
    a.judge(again, 10**8, codes=(0,) if child.returncode != 0 else (0, 1, 2))
    if result(content(out)) != result(new):
        raise Failure(f"{scenario.name}: the run after the kill gave something else")
    if found := hidden(folder):
        raise Failure(f"{scenario.name}: {found[0].relative_to(folder)} is left after the next run")
    if extra := {p.name for p in place.iterdir()} - {"OUT", "STATE"}:
        raise Failure(f"{scenario.name}: {extra} are left")


def result(found):
    """The models of an output; times and logs of a training run differ."""
    if isinstance(found, dict) and "recipe.json" in found:
        return {name: data for name, data in found.items() if name.endswith(".safetensors")}
    return found


def play(a, rng, folder):
    model_files(rng, folder)
    for scenario in SCENARIOS:
        place = folder / "work"
        remove(place)
        place.mkdir()
        old = [a.program("convert"), "-o", "work/OUT", "--to", "coo", "-q"]
        a.judge(a.run(commands(a, scenario), cwd=folder), 10**8, codes=(0,))
        new = content(place / "OUT")
        remove(place)
        place.mkdir()
        times = watched(a, scenario, folder)
        for _ in range(KILLS):
            kill_once(a, rng, folder, scenario, old, new, times)
    return f"{KILLS} kills of each of {len(SCENARIOS)}"
