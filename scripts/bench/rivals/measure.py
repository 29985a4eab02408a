# SPDX-License-Identifier: Apache-2.0
"""Measures in rounds: sten-bench and every worker in turn, each round beginning with another."""

import json
import os
import subprocess
import sys
import tempfile
import time

import plan
from common import HERE, Failed, say

REST = 0.3  # seconds in which a team of threads goes to sleep after its work


class Record(dict):
    """One figure and what it is of; ms has one value for each round."""

    def __init__(self, **what):
        super().__init__(**what, ms=[])


class Sten:
    def __init__(self, program, setup):
        self.program, self.setup = program, setup
        self.lines = {}
        has_tiles = "bfloat16" in setup["precisions"]
        for line, s, layout in plan.sten_layouts(setup["form"], setup["sparsities"], has_tiles):
            self.lines[layout] = (line, s)
        self.records, self.warned = {}, []

    def command(self):
        s = self.setup
        layouts = [word for layout in self.lines for word in ("--layouts", layout)]
        shape = "x".join(map(str, s["shape"]))
        return (
            [self.program, "gemm", "--form", s["form"], "--shape", shape]
            + layouts
            + [*("--threads", str(s["threads"]), "--repeats", str(s["repeats"]), "--json")]
        )

    def measure(self, pause):
        pause()
        done = subprocess.run(self.command(), capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"sten-bench failed: {done.stderr.strip()}")
        for line in done.stderr.splitlines():
            if line.endswith("is not measured") and line not in self.warned:
                self.warned.append(line)
                print(line, file=sys.stderr)
        self.add(json.loads(done.stdout))

    def add(self, document):
        """Takes what sten-bench says of one round; dense libraries are runtimes of their own."""
        for row in document["results"]:
            precision = plan.PRECISIONS.get(row["precision"], row["precision"])
            key = (row["layout"], row["library"], precision)
            if key not in self.records:
                name, _, version = (row["library"] or "sten").partition(" ")
                line, sparsity = self.lines.get(row["layout"], (None, 0))
                if line and row["library"]:
                    line = name
                if (line == plan.STEN_TILES) != (line is not None and precision == "bfloat16"):
                    line = None
                self.records[key] = Record(
                    line=line,
                    runtime=name,
                    version=version or self.setup["version"],
                    layout=row["layout"],
                    sparsity=sparsity,
                    precision=precision,
                    isa=row["isa"],
                    error=row["error"],
                    note="",
                )
            self.records[key]["ms"].append(row["ms"])

    def close(self):
        pass


class Process:
    """A rival in a Python of its own that stays warm: it reads requests, and answers each with a line
    of JSON."""

    def __init__(self, python, script, name, arguments, threads):
        self.name = name
        self.said = tempfile.TemporaryFile("w+")
        # Results of a product are new memory each time for some; kept by malloc, it is not the
        # kernel's to clear every time.
        kept = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
        team = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            [python, "-B", os.path.join(HERE, script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            text=True,
            env={**os.environ, **kept, **team},
        )

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.said.seek(0)
            tail = self.said.read().strip().splitlines()[-5:]
            raise Failed(f"{self.name} failed:\n  " + "\n  ".join(tail))
        return json.loads(line)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Worker(Process):
    def __init__(self, python, name, setup):
        self.setup = setup
        sparsities = [0] + (setup["sparsities"] if name in plan.LINES else [])
        kinds = {f"{s:g}": (s, "float32") for s in sparsities}
        kinds |= {p: (0, p) for p in plan.LOW.get(name, []) if p in setup["precisions"]}
        shape = "x".join(map(str, setup["shape"]))
        arguments = [name, str(setup["threads"]), setup["form"], shape, *kinds]
        super().__init__(python, "worker.py", name, arguments, setup["threads"])
        who = self.answer()
        self.records = {}
        for text, (sparsity, precision) in kinds.items():
            self.records[text] = Record(
                line=plan.LINES.get(name) if sparsity else None,
                layout="random zeros" if sparsity else "dense",
                sparsity=sparsity,
                precision=precision,
                **who,
                **self.answer(),
            )

    def measure(self, pause):
        for text, record in self.records.items():
            pause()
            answer = self.ask(weight=text, repeats=self.setup["repeats"])
            record["ms"].append(answer["ms"])


def in_rounds(members, rounds, threads, title):
    """measure() of all members in turn, each round beginning with another."""

    def pause():
        if threads > 1:
            time.sleep(REST)

    for r in range(rounds):
        first = r % len(members)
        for member in members[first:] + members[:first]:
            member.measure(pause)
        say(f"{title}: round {r + 1} of {rounds}")


def measure_form(setup, runtimes, program, python):
    """All records of a form, after its rounds."""
    members = []
    try:
        for name in runtimes:
            say(f"{setup['form']}: loading {name}")
            if name == "sten":
                members.append(Sten(program, setup))
            else:
                members.append(Worker(python, name, setup))
        in_rounds(members, setup["rounds"], setup["threads"], setup["form"])
        return [record for member in members for record in member.records.values()]
    finally:
        for member in members:
            member.close()
