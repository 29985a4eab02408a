# SPDX-License-Identifier: Apache-2.0
"""The same work gives the same bytes: by pipe or by file, in one command or from program to
program, under any name."""

import json
import os
import subprocess
import threading
import unittest

import numpy as np
from _programs import BIN, ENVIRONMENT, MODEL, Case, run
from _reference import FLOATS, entry, file_bytes, parse_file
from _samples import any_bits, weights

WAYS = [command.split() for command in """prune --sparsity 0.9
        prune --sparsity 0.9 --to bitmask
        prune --sparsity 0.5 --method random --seed 7 --to csr
        prune --structure nmg:n=1,m=10,g=4 --to nmg
        convert --to masked
        convert --to nm:n=2,m=4
        convert --to dense""".splitlines()]


def mixed():
    rng = np.random.default_rng(51)
    entries = [entry(f"{d}.weight", d, weights(rng, d, (33, 47))) for d in FLOATS]
    entries += [entry(f"{d}.bias", d, any_bits(rng, d, (3,))) for d in ("I64", "BOOL", "F16")]
    return file_bytes(entries, {"format": "pt"})


class Pipe(Case):
    def sources(self):
        return [MODEL, self.write("mixed", mixed())]

    def test_standard_input_and_output(self):
        for source in self.sources():
            content = source.read_bytes()
            for program, *flags in WAYS:
                with self.subTest(source=source.name, way=flags):
                    out = self.path("out")
                    run(program, source, "-o", out, "-f", "-q", *flags)
                    expected = out.read_bytes()
                    parse_file(expected)
                    self.assertEqual(run(program, source, "-o", "-", *flags), expected)
                    self.assertEqual(run(program, "-", "-o", "-", *flags, stdin=content), expected)
                    run(program, "-", "-o", out, "-f", "-q", *flags, stdin=content)
                    self.assertEqual(out.read_bytes(), expected)
                    # A file as standard input, of which another reader took nothing.
                    command = [BIN / f"sten-{program}", "-", "-o", "-", "-q", *flags]
                    with open(source, "rb") as f:
                        got = subprocess.run(command, stdin=f, capture_output=True, env=ENVIRONMENT)
                    self.assertEqual((got.returncode, got.stdout), (0, expected))

    def test_the_name_and_threads_leave_no_trace(self):
        content = mixed()
        other = self.folder / "another folder"
        other.mkdir()
        (other / "x").write_bytes(content)
        for program, *flags in WAYS:
            first = run(program, self.write("mixed", content), "-o", "-", *flags)
            for more in (["--threads", "1"], ["--threads", "5", "-v", "--progress", "always"]):
                self.assertEqual(run(program, other / "x", "-o", "-", *flags, *more), first)
            self.assertNotIn(str(self.folder).encode(), first)

    def test_from_program_to_program(self):
        # prune | convert | convert, all at once, against the same steps by files.
        steps = [
            ["prune", "--sparsity", "0.9"],
            ["convert", "--to", "bitmask"],
            ["convert", "--to", "dense"],
        ]
        for source in self.sources():
            path = source
            for i, (program, *flags) in enumerate(steps):
                run(program, path, "-o", self.path(f"step{i}"), "-f", "-q", *flags)
                path = self.path(f"step{i}")
            running, previous = [], open(source, "rb")
            for program, *flags in steps:
                command = [BIN / f"sten-{program}", "-", "-o", "-", "-q", *flags]
                step = subprocess.Popen(
                    command, stdin=previous, stdout=subprocess.PIPE, env=ENVIRONMENT
                )
                previous.close()
                running.append(step)
                previous = step.stdout
            got = previous.read()
            previous.close()
            self.assertEqual([step.wait() for step in running], [0, 0, 0])
            self.assertEqual(got, path.read_bytes())
            steps_taken = json.loads(parse_file(got).metadata["sten.provenance"])
            taken = [step["program"] for step in steps_taken]
            self.assertEqual(taken, ["sten-prune", "sten-convert", "sten-convert"])

    def test_energy_of_a_pipe(self):
        pruned = run("prune", MODEL, "-o", "-", "--sparsity", "0.9", "--to", "csr")
        path = self.write("pruned", pruned)
        by_file = json.loads(run("energy", path, "--against", MODEL, "--json"))
        by_pipe = json.loads(run("energy", "-", "--against", MODEL, "--json", stdin=pruned))
        original = MODEL.read_bytes()
        against = json.loads(run("energy", path, "--against", "-", "--json", stdin=original))
        for other in (by_pipe, against):
            self.assertEqual(other["tensors"], by_file["tensors"])
            self.assertEqual(other["total"], by_file["total"])

    def test_named_pipe(self):
        fifo, content = self.folder / "fifo", mixed()
        expected = run("prune", self.write("mixed", content), "-o", "-", "--sparsity", "0.9")
        os.mkfifo(fifo)
        writer = threading.Thread(target=fifo.write_bytes, args=(content,))
        writer.start()
        self.assertEqual(run("prune", fifo, "-o", "-", "--sparsity", "0.9"), expected)
        writer.join()

    def test_standard_output_holds_the_file_alone(self):
        out = run("prune", MODEL, "-o", "-", "--sparsity", "0.9", "-v")
        self.assertEqual(len(parse_file(out).entries), len(parse_file(MODEL.read_bytes()).entries))
        run("prune", MODEL, "-o", "-", "--sparsity", "0.9", "--json", expect=2)


if __name__ == "__main__":
    unittest.main()
