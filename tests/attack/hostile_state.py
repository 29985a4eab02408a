# SPDX-License-Identifier: Apache-2.0
"""Damaged recipes, states of staged runs, runs of training, and what a trainer leaves."""

import json
import os
import shutil

from _harness import Failure, hidden
from _models import random_model, write_model
from _mutate import bytes_of, edited, json_of, rows_of, odd_value, text_of

RUNS = 12

RECIPE = {
    "schema": 1,
    "model": {"kind": "mlp", "sizes": [6, 8, 3]},
    "data": {"kind": "csv", "file": "data.csv", "train": 0.6, "validation": 0.2},
    "optimizer": {"kind": "adamw", "rate": 0.004},
    "rate": {"kind": "cosine", "warmup": 2},
    "steps": 24,
    "clip": 1,
    "sparsity": [
        {
            "target": "layers.0.weight",
            "sparsifier": "magnitude:sparsity=0.5",
            "schedule": {"kind": "iterative", "from": 0.2, "step": 0.2, "end": 12},
            "mask": {"refresh": 7},
            "save": "csr",
        }
    ],
    "evaluation": {"every": 8, "keep_best": True},
    "checkpoints": {"every": 6, "keep": 3},
    "logging": {"every": 4},
}


def data_csv(rng):
    return "".join(
        ",".join([*(str(rng.randrange(16)) for _ in range(6)), str(rng.randrange(3))]) + "\n"
        for _ in range(60)
    )


def recipe(a, rng, folder):
    """Recipes are read and their run is planned; nothing is trained."""
    (folder / "data.csv").write_text(data_csv(rng))
    path = folder / "recipe.json"
    for _ in range(2 * RUNS):
        value = json.loads(json.dumps(RECIPE))
        kind = rng.random()
        if kind < 0.8:
            path.write_bytes(json_of(rng, text_of(value)))
        elif kind < 0.9:
            path.write_bytes(text_of(value))
            (folder / "data.csv").write_bytes(bytes_of(rng, data_csv(rng).encode()))
        else:
            value["model"] = {
                "kind": "mlp",
                "sizes": [6, *[rng.choice([1, 8, 10**9, 2**40])] * rng.choice([1, 500, 10000]), 3],
            }
            path.write_bytes(text_of(value))
        size = path.stat().st_size + (folder / "data.csv").stat().st_size
        extra = []
        if rng.random() < 0.2:
            key = rng.choice(
                ["optimizer.rate", "/sparsity/0/save", "model.sizes", "steps", "x", "/sparsity/9/save", ""]
            )
            extra = [
                "--set",
                f"{key}={text_of(odd_value(rng)).decode(errors='replace')[:60000]}".replace("\0", ""),
            ]
        end = a.sten("train", path, "--dry-run", "--out", folder / "run", "-q", *extra)
        a.judge(end, size, [folder / "run"])
        if end.code == 0 and (folder / "run").exists():
            raise Failure("a dry run made a directory")
        a.count("accepted" if end.code == 0 else "refused")
    return "recipes"


def damage(rng, state):
    """One file of a run's directory changed, cut, taken away or replaced; says which."""
    files = sorted(os.path.join(d, f) for d, _, fs in os.walk(state) for f in fs)
    path = rng.choice(files)
    with open(path, "rb") as f:
        old = f.read()
    kind = rng.random()
    if kind < 0.1:
        os.unlink(path)
        return f"{path} removed"
    if kind < 0.15:
        os.unlink(path)
        os.mkdir(path)
        return f"{path} is a directory"
    if kind < 0.2:
        os.unlink(path)
        os.symlink(rng.choice(["/dev/zero", path, "/nothing"]), path)
        return f"{path} is a link to {os.readlink(path)}"
    if path.endswith(".jsonl"):
        new = rows_of(rng, old)
    elif path.endswith(".json"):
        new = json_of(rng, old)
    else:
        new = bytes_of(rng, old)
    with open(path, "wb") as f:
        f.write(new)
    same = " (the same)" if new == old else ""
    return f"{path} damaged{same}"


def copied(source, target):
    shutil.copytree(source, target, symlinks=True)
    return target


def prune_state(a, rng, folder):
    """A staged run that was stopped, whose state is damaged: the same output comes out, or none."""
    entries, _ = random_model(rng, most=60)
    write_model(rng, folder / "in.safetensors", entries)
    stages = ["in.safetensors", "--schedule", "iterative:from=0.2,to=0.6,step=0.2", "--to", "csr", "-q"]
    command = [
        *stages,
        "--finetune",
        "[ ! -e stop ] || [ {stage} != 3 ] || exit 1; cp {in} {out}; echo '{\"loss\": 1}' > {metrics}",
    ]
    a.must("prune", *command, "-o", "whole.safetensors", "--state", "whole", cwd=folder)
    (folder / "stop").touch()
    a.must("prune", *command, "-o", "x.safetensors", "--state", "stopped", cwd=folder, expect=1)
    (folder / "stop").unlink()
    wanted = (folder / "whole.safetensors").read_bytes()
    for i in range(RUNS):
        state = copied(folder / "stopped", folder / f"state{i}")
        said = damage(rng, state)
        size = 20000 + (folder / "in.safetensors").stat().st_size
        out = folder / f"out{i}.safetensors"
        end = a.sten("prune", *command, "-o", out, "--state", state, "--resume", cwd=folder)
        try:
            a.judge(end, size, [out])
            if end.code == 0 and out.read_bytes() != wanted:
                raise Failure("another model came out")
            if found := [p for p in hidden(folder) if p.parent == folder]:
                raise Failure(f"left {found[0]}")
        except Failure as e:
            raise Failure(f"{said}: {e}") from e
        a.count("accepted" if end.code == 0 else "refused")
    return "states of sten-prune"


def train_state(a, rng, folder):
    """A training run that was stopped, whose directory is damaged."""
    (folder / "data.csv").write_text(data_csv(rng))
    path = folder / "recipe.json"
    path.write_bytes(text_of(RECIPE))
    a.must("train", path, "--out", folder / "whole", "-q", "--threads", "1")
    a.must("train", path, "--out", folder / "stopped", "-q", "--threads", "1")
    # As after a kill between two checkpoints: without what the end of a run leaves.
    checkpoints = sorted((folder / "stopped" / "checkpoints").iterdir())
    shutil.rmtree(checkpoints[-1])
    for name in os.listdir(folder / "whole"):
        path_of = folder / "stopped" / name
        if name.startswith(("model", "report", "best", "summary")):
            shutil.rmtree(path_of) if path_of.is_dir() else path_of.unlink()
    models = {p.name: p.read_bytes() for p in (folder / "whole").glob("*.safetensors")}
    for i in range(RUNS):
        run = copied(folder / "stopped", folder / f"run{i}")
        said = damage(rng, run)
        size = 40000
        end = a.sten("train", path, "--out", run, "--resume", "-q", "--threads", "1")
        try:
            a.judge(end, size)
            for name, content in models.items():
                if end.code == 0 and (run / name).read_bytes() != content:
                    raise Failure(f"another {name} came out")
        except Failure as e:
            raise Failure(f"{said}: {e}") from e
        a.count("accepted" if end.code == 0 else "refused")
    return "runs of sten-train"


def metrics(a, rng, folder):
    """What a command of the user's leaves as {out} and {metrics}."""
    entries, _ = random_model(rng, most=60)
    write_model(rng, folder / "in.safetensors", entries)
    good = (folder / "in.safetensors").read_bytes()
    command = ["in.safetensors", "--schedule", "linear:from=0,to=0.5,stages=1", "-q", "-o", "out.safetensors"]
    command += ["--finetune", "cat left.out > {out}; cat left.json > {metrics} # {in}"]
    for i in range(RUNS):
        (folder / "left.out").write_bytes(good if rng.random() < 0.6 else bytes_of(rng, good))
        (folder / "left.json").write_bytes(
            json_of(rng, text_of(edited(rng, {"loss": 1.5, "loss_before": 2})))
        )
        size = sum((folder / n).stat().st_size for n in ("left.out", "left.json", "in.safetensors"))
        end = a.sten("prune", *command, "--state", f"state{i}", cwd=folder)
        a.judge(end, size, [folder / "out.safetensors"])
        if end.code == 0:
            (folder / "out.safetensors").unlink()
        a.count("accepted" if end.code == 0 else "refused")
    return "what a command leaves"
