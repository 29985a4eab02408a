# SPDX-License-Identifier: Apache-2.0
"""What products.py and models.py share: sten's programs, options, and files of results."""

import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))


class Missing(Exception):
    """Something that has to be there is not."""


class Failed(Exception):
    """Something that was run did not do what it should."""


def say(text):
    print(f"rivals: {text}", file=sys.stderr, flush=True)


def positive(text):
    if int(text) < 1:
        raise ValueError
    return int(text)


def add_shared_options(p, rounds, repeats, writers):
    """How often and on how many processors, and where results go or come from."""
    *most, last = (f"FILE{w}" if i == 0 else w for i, w in enumerate(writers))
    p.add_argument("--threads", type=positive, default=1, help="of each, on as many CPUs (1)")
    p.add_argument("--rounds", type=positive, help=f"of all in turn ({rounds})")
    p.add_argument("--repeats", type=positive, help=f"of each in a round ({repeats})")
    p.add_argument(
        "--merge",
        metavar="FILE.json",
        action="append",
        help="measure nothing: results of earlier runs; repeatable",
    )
    p.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=lambda path: output_of(path, writers),
        action="append",
        help="also write %s or %s; repeatable" % (", ".join(most), last),
    )


def output_of(path, writers):
    if os.path.splitext(path)[1] not in writers:
        *most, last = writers
        raise argparse.ArgumentTypeError(f"{path}: has to end in {', '.join(most)} or {last}")
    return path


def find(name):
    folder = os.environ.get("STEN_BIN") or os.path.join(ROOT, "build", "bin")
    program = os.path.join(folder, name)
    if not os.access(program, os.X_OK):
        raise Missing(f"{program} is missing: build first, or set STEN_BIN")
    return program


def output_from(command):
    """What a program of ours wrote to standard output."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{os.path.basename(command[0])} failed: {done.stderr.strip()}")
    return done.stdout


def version_of(program):
    said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.split()
    return said[-1] if said else ""


def bfloat16_here():
    """Whether the processor multiplies it, rather than a runtime emulating it."""
    with open("/proc/cpuinfo") as f:
        flags = f.read().split()
    return "avx512_bf16" in flags or "amx_bf16" in flags


def machine():
    """What it has, as sten-bench says it; to be asked before hold_to_cpus()."""
    command = [find("sten-bench"), "gemm", "--shape", "8x8x8", "--repeats", "1", "--json", "-q"]
    return json.loads(output_from(command))["machine"]


def hold_to_cpus(threads):
    """This process and all that it starts, to the first CPUs of those that are allowed."""
    cpus = sorted(os.sched_getaffinity(0))
    if threads > len(cpus):
        raise Missing(f"there are {len(cpus)} CPUs for {threads} threads")
    os.sched_setaffinity(0, cpus[:threads])


def load(path):
    """(path, results of an earlier run)."""
    try:
        with open(path) as f:
            return path, json.load(f)
    except ValueError:
        raise ValueError(f"{path}: not results of scripts/rivals.sh")


def write(paths, writers, document):
    for path in paths or []:
        text = writers[os.path.splitext(path)[1]](document)
        with open(path, "w") as f:
            f.write(text)
