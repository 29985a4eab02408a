# SPDX-License-Identifier: Apache-2.0
"""Random directory trees and random commands in them: nothing but the named outputs ever changes,
and nothing that is not a program's own work is ever lost."""

import os
import stat
from pathlib import Path

from _harness import Failure
from _models import random_model, write_model
from _mutate import text_of
from hostile_state import RECIPE, data_csv

COMMANDS = 4  # in a tree
DEPTH = "one/two/three/four/five"  # so that a command that goes wrong upwards stays in here
NAMES = ["out", "pp", "res", "m.safetensors", "old", "mb", "notes", "sub", "x.y", "work", "a b", "ü"]


class Tree:
    """A tree, the commands' working directory, and what earlier runs wrote."""

    def __init__(self, a, rng, folder):
        self.a, self.rng, self.guard = a, rng, Path(os.path.realpath(folder))
        self.root = self.guard / DEPTH
        self.root.mkdir(parents=True)
        self.ours = set()  # files that the programs made
        self.files, self.directories = [], []
        self.folders = [self.root]
        (self.guard / "one/two/precious").write_text("above\n")
        (self.root.parent / "sibling").mkdir()
        (self.root.parent / "sibling" / "notes").write_text("beside\n")
        for _ in range(rng.randint(1, 4)):
            at = rng.choice(self.folders) / rng.choice(NAMES)
            if not at.exists():
                at.mkdir()
                self.folders.append(at)
        for _ in range(rng.randint(4, 10)):
            self.grow(rng.choice(self.folders))
        if not self.files:
            self.model_file(self.root)
        if not self.directories:
            self.model_directory(self.root)

    def free(self, folder, names=NAMES):
        at = folder / self.rng.choice(names)
        return None if os.path.lexists(at) else at

    def grow(self, folder):
        makers = [
            self.model_file,
            self.model_directory,
            self.model_directory,
            self.earlier_output,
            self.earlier_output,
        ]
        makers += [self.foreign, self.foreign, self.link, self.hidden]
        self.rng.choice(makers)(folder)

    def model(self, path):
        entries, _ = random_model(self.rng, most=40)
        write_model(self.rng, path, entries)

    def model_file(self, folder):
        if at := self.free(folder, ["m.safetensors", "in.safetensors", "model.safetensors"]):
            self.model(at)
            self.files.append(at)

    def model_directory(self, folder):
        if at := self.free(folder):
            at.mkdir()
            self.model(at / "model.safetensors")
            (at / "config.json").write_text('{"model_type": "bert"}')
            self.directories.append(at)
            self.strew(at)

    def strew(self, at):
        """What stands in directories that people work in."""
        rng = self.rng
        for chance, name, inner in (
            (0.3, ".git", "HEAD"),
            (0.2, ".cache", "x"),
            (0.15, "older", "model.safetensors"),
        ):
            if rng.random() < chance and not os.path.lexists(at / name):
                (at / name / "refs").mkdir(parents=True)
                (at / name / inner).write_text("ref: refs/heads/main\n")
        if rng.random() < 0.2:
            (at / "notes.txt").write_text("mine\n")
        if rng.random() < 0.15 and not os.path.lexists(at / "fifo"):
            os.mkfifo(at / "fifo")

    def earlier_output(self, folder):
        """Of a run of ours, and perhaps with something of the user's added."""
        at = self.free(folder, [n for n in NAMES if not n.endswith(".safetensors")])  # a directory
        if not at or not self.directories:
            return
        self.a.must("prune", self.rng.choice(self.directories), "-o", at, "--sparsity", "0.5", "-q")
        self.ours |= {at, *at.rglob("*")}
        if self.rng.random() < 0.5:
            self.strew(at)

    def foreign(self, folder):
        rng = self.rng
        at = self.free(folder, [*NAMES, "README.md", "thesis.tex", ".git", "data"])
        if not at:
            return
        if rng.random() < 0.5:
            at.write_text("precious\n")
        else:
            at.mkdir()
            (at / "deep").mkdir()
            (at / "deep" / "file").write_text("precious\n")
            self.strew(at)

    def hidden(self, folder):
        """Looks like what an interrupted run leaves."""
        name = self.rng.choice(NAMES)
        at = self.free(folder, [f".{name}.sten-mynotes", f".{name}.sten-", f".{name}.sten-backup"])
        if at:
            at.mkdir()
            (at / "file").write_text("mine\n")

    def link(self, folder):
        at = self.free(folder, ["link", "l2", *NAMES])
        if at:
            to = self.rng.choice(
                [
                    ".",
                    "..",
                    "nothing",
                    *self.folders,
                    *self.files,
                    *self.directories,
                    self.root.parent / "sibling",
                ]
            )
            at.symlink_to(
                to if self.rng.random() < 0.5 or isinstance(to, str) else os.path.relpath(to, folder)
            )

    # ------------------------------------------------------------------------------ paths

    def within(self, path):
        """Whether a path, relative to where commands run, is inside the tree's guard and deep in it."""
        real = Path(os.path.realpath(self.cwd / path))
        return real == self.guard / "one" or (self.guard / "one") in real.parents

    def spelled(self, path):
        """One of the ways to write it."""
        rng, path = self.rng, Path(path)
        text = str(path) if rng.random() < 0.3 else os.path.relpath(path, self.cwd)
        kind = rng.random()
        if kind < 0.15:
            text = f"./{text}" if not text.startswith("/") else text
        elif kind < 0.25:
            text += "/"
        elif kind < 0.32:
            text += "/."
        elif kind < 0.4 and path.is_dir():
            inner = [p.name for p in path.iterdir() if p.is_dir() and not p.is_symlink()]
            text += f"/{rng.choice(inner)}/.." if inner else ""
        elif kind < 0.47:
            text = os.path.join(os.path.dirname(text), ".", os.path.basename(text))
        elif kind < 0.55:
            links = [p for p in path.parent.iterdir() if p.is_symlink() and os.path.realpath(p) == str(path)]
            text = str(links[0]) if links else text
        return text

    def target(self):
        """What a command may name as an output. Writing to a pipe waits for its reader: none of these."""
        while True:
            text = self.any_target()
            try:
                if not stat.S_ISFIFO(os.stat(self.cwd / text).st_mode):
                    return text
            except OSError:
                return text

    def any_target(self):
        rng, kind = self.rng, self.rng.random()
        if kind < 0.3:
            at = rng.choice(self.folders) / rng.choice(NAMES)
        elif kind < 0.45:
            at = rng.choice(self.directories)
        elif kind < 0.55:
            at = rng.choice(self.files)
        elif kind < 0.7:
            at = rng.choice([self.cwd, self.cwd.parent, self.root, self.root.parent, *self.folders])
        elif kind < 0.85 and self.ours:
            at = rng.choice(sorted(self.ours)).parent
        else:
            every = [Path(d) / n for d, ds, fs in os.walk(self.root) for n in (*ds, *fs)]
            at = rng.choice(sorted(every))
        return self.spelled(at)


def picture(top):
    """Everything below: what it is, and what is in it."""
    out = {}
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = Path(folder) / name
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                out[path] = ("link", os.readlink(path))
            elif stat.S_ISREG(mode):
                out[path] = ("file", path.read_bytes())
            else:
                out[path] = ("other", stat.S_IFMT(mode))
    return out


def command(tree):
    """(words, outputs that may be there afterwards, inputs, those that may be written on failure)."""
    rng = tree.rng
    kind = rng.choice(["prune", "prune", "prune", "convert", "batch", "energy", "train", "stages"])
    inputs = [rng.choice([*tree.files, *tree.directories])]
    outputs, kept = [], []  # kept: also where the run fails
    if kind == "train":
        (tree.guard / "recipe.json").write_bytes(
            text_of({**RECIPE, "steps": 4, "checkpoints": {"every": 2, "keep": 1}})
        )
        (tree.guard / "data.csv").write_text(data_csv(rng))
        kept = [tree.target()]
        words = ["train", str(tree.guard / "recipe.json"), "--out", kept[0], "--threads", "1"]
        inputs = []
    elif kind == "energy":
        outputs = [tree.target() + rng.choice([".json", ".html", ""])]
        words = ["energy", tree.spelled(inputs[0]), "--report", outputs[0]]
    elif kind == "batch":
        inputs = rng.choices([*tree.files, *tree.directories], k=rng.randint(1, 3))
        kept = [tree.target()]
        program, *how = rng.choice([["prune", "--sparsity", "0.5"], ["convert", "--to", "csr"]])
        words = [program, *map(tree.spelled, inputs), "--out-dir", kept[0], *how, "--keep-going"]
    else:
        outputs = [tree.target()]
        words = [
            "convert",
            tree.spelled(inputs[0]),
            "-o",
            outputs[0],
            "--to",
            rng.choice(["csr", "bitmask", "dense", "auto"]),
        ]
        if kind != "convert":
            words = ["prune", *words[1:4], "--sparsity", "0.5"]
        if rng.random() < 0.15 and kind != "convert":
            outputs.append(tree.target())
            words += ["--mask-out", outputs[-1]]
        if kind == "stages":
            kept = [tree.target()]
            words += [
                "--schedule",
                "linear:from=0,to=0.5,stages=1",
                "--finetune",
                "cp -r {in} {out}",
                "--state",
                kept[0],
            ]
            words.remove("0.5")
            words.remove("--sparsity")
    if rng.random() < 0.2:
        path = tree.target() + ".csv"
        # That of a batch says which inputs failed.
        (kept if kind == "batch" else outputs).append(path)
        words += ["--report", path]
    if rng.random() < 0.65:
        words.append("-f")
    return words, outputs, inputs, kept


def check(tree, words, outputs, inputs, kept, before, after, code, where):
    """What differs has to be within the outputs, and nothing of the user's may be gone there."""
    force = "-f" in words
    allowed = [where[o] for o in (outputs if code in (0, 3) else []) + kept]
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        within = any(path == o or o in path.parents for o in allowed)
        what = "changed" if old and new else "vanished" if old else "appeared"
        if not within and not (old is None and any(path in o.parents for o in allowed)):
            raise Failure(
                f"'{path.relative_to(tree.guard)}' {what}; it is in no output that was named (exit {code})"
            )
        if old is None:
            continue
        if not force:
            raise Failure(f"'{path.relative_to(tree.guard)}' {what} without -f (exit {code})")
        names = [os.path.basename(os.path.realpath(i)) for i in inputs] + [os.path.basename(w) for w in words]
        named = [*allowed, *(o / name for o in allowed for name in names if name)]
        if path not in tree.ours and not (path in named and old[0] == "file"):
            raise Failure(f"'{path.relative_to(tree.guard)}' {what}, and no run of ours had made it (exit {code})")
    for path in inputs:
        for p, old in before.items():
            if (p == path or path in p.parents) and after.get(p) != old:
                raise Failure(f"the input '{p.relative_to(tree.guard)}' was written")


def play(a, rng, folder):
    tree = Tree(a, rng, folder)
    said = []
    for _ in range(COMMANDS):
        tree.cwd = rng.choice([f for f in tree.folders if f.is_dir()] or [tree.root])
        tree.files = [f for f in tree.files if f.is_file()]
        tree.directories = [d for d in tree.directories if (d / "model.safetensors").is_file()]
        if not tree.files or not tree.directories:
            break
        words, outputs, inputs, kept = command(tree)
        if not all(tree.within(p) for p in (*outputs, *kept)):
            continue
        assert tree.guard.is_relative_to(a.fast) and tree.cwd.is_relative_to(
            tree.guard / DEPTH
        ), "the tree is not in its place"
        where = {o: Path(os.path.realpath(tree.cwd / o)) for o in (*outputs, *kept)}
        before = picture(tree.guard)
        env = {"HOME": str(rng.choice(tree.folders))}
        end = a.sten(words[0], *words[1:], "-q", cwd=tree.cwd, env=env)
        a.judge(end, 10**6, several="--keep-going" in words)
        after = picture(tree.guard)
        a.count("commands")
        check(tree, words, outputs, inputs, kept, before, after, end.code, where)
        if end.code == 0:
            a.count("commands that succeeded")
            # What this run made is its own from now on; what was there stays the user's.
            made = [p for p in after if after[p] != before.get(p)]
            tree.ours |= set(made)
        said.append(f"{words[0]}:{end.code}")
    a.count("trees")
    return " ".join(said)
