"""Measures sten beside PyTorch, ONNX Runtime and DeepSparse on the same products. See docs/bench.md."""

import argparse
import json
import os
import subprocess
import sys

import chart
import environment
import measure
import plan
import results

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(measure.HERE)))
WRITERS = {
    ".json": results.to_json,
    ".csv": results.to_csv,
    ".md": results.to_markdown,
    ".svg": chart.to_svg,
}


def parse(arguments):
    p = argparse.ArgumentParser(
        prog="scripts/rivals.sh",
        description="Measures sten beside PyTorch, ONNX Runtime and DeepSparse on the same products, in rounds, "
        "and says every figure as a ratio to the fastest dense product of its round. The rivals live in a "
        f"virtual environment of Python {plan.PYTHON} outside the repository, made from PyPI at first use.",
        epilog="What is measured is listed in scripts/bench/rivals/plan.py.",
    )
    many = {"action": "append", "default": None}
    p.add_argument("--form", choices=plan.FORMS, help="as of sten-bench; repeatable (all)", **many)
    p.add_argument("--shape", type=shape_of, help="MxKxN (%s)" % "x".join(map(str, plan.SHAPE)))
    p.add_argument("--sparsity", type=sparsity_of, help="repeatable (0.5, 0.75, 0.9, 0.95)", **many)
    p.add_argument("--threads", type=positive, default=1, help="of each, on as many CPUs (1)")
    p.add_argument("--rounds", type=positive, help="of all in turn (%d)" % plan.LEAST_ROUNDS)
    p.add_argument("--repeats", type=positive, help="of each in a round (%d)" % plan.REPEATS)
    p.add_argument(
        "--quick", action="store_true", help="a small shape and 2 rounds: whether it works"
    )
    p.add_argument("--runtime", choices=plan.RUNTIMES, help="repeatable (all)", **many)
    p.add_argument(
        "--venv", metavar="DIR", help=f"the rivals' environment ({environment.default_folder()})"
    )
    p.add_argument(
        "--merge",
        metavar="FILE.json",
        help="measure nothing: results of earlier runs; repeatable",
        **many,
    )
    p.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="also write FILE.json, .csv, .md or .svg; repeatable",
        **many,
    )
    o = p.parse_args(arguments)
    for path in o.output or []:
        if os.path.splitext(path)[1] not in WRITERS:
            p.error(f"{path}: has to end in .json, .csv, .md or .svg")
    return o


def positive(text):
    if int(text) < 1:
        raise ValueError
    return int(text)


def sparsity_of(text):
    if not 0 < float(text) < 1:
        raise ValueError
    return float(text)


def shape_of(text):
    m, k, n = map(positive, text.split("x"))
    return m, k, n


def say(text):
    print(f"rivals: {text}", file=sys.stderr, flush=True)


def find_sten_bench():
    folder = os.environ.get("STEN_BIN") or os.path.join(ROOT, "build", "bin")
    program = os.path.join(folder, "sten-bench")
    if not os.access(program, os.X_OK):
        raise environment.Missing(f"{program} is missing: build first, or set STEN_BIN")
    return program


def version_of(program):
    said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.split()
    return said[-1] if said else ""


def machine_of(program):
    """As sten-bench names it."""
    command = [program, "gemm", "--shape", "8x8x8", "--repeats", "1", "--json", "-q"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise measure.Failed(f"sten-bench failed: {done.stderr.strip()}")
    return json.loads(done.stdout)["machine"]


def run(o):
    quick = plan.QUICK if o.quick else {}
    runtimes = [r for r in plan.RUNTIMES if r in (o.runtime or plan.RUNTIMES)]
    program = find_sten_bench()
    python = None
    if runtimes != ["sten"]:
        python = environment.prepare(o.venv or environment.default_folder(), say)
    cpus = sorted(os.sched_getaffinity(0))
    if o.threads > len(cpus):
        raise environment.Missing(f"there are {len(cpus)} CPUs for {o.threads} threads")
    machine = machine_of(program)
    os.sched_setaffinity(0, cpus[: o.threads])  # all that is started from here
    rows = []
    for form in o.form or plan.FORMS:
        setup = {
            "form": form,
            "shape": o.shape or quick.get("shape", plan.SHAPE),
            "threads": o.threads,
            "sparsities": o.sparsity or plan.SPARSITIES,
            "rounds": o.rounds or quick.get("rounds", plan.LEAST_ROUNDS),
            "repeats": o.repeats or quick.get("repeats", plan.REPEATS),
            "version": version_of(program),
        }
        rows += results.summarize(
            setup, measure.measure_form(setup, runtimes, program, python, say)
        )
    return {
        "schema": results.SCHEMA,
        "machine": machine,
        "results": rows,
    }


def load(path):
    try:
        with open(path) as f:
            return path, json.load(f)
    except ValueError:
        raise ValueError(f"{path}: not results of scripts/rivals.sh")


def main():
    o = parse(sys.argv[1:])
    try:
        document = results.merge([load(path) for path in o.merge]) if o.merge else run(o)
        for path in o.output or []:
            with open(path, "w") as f:
                f.write(WRITERS[os.path.splitext(path)[1]](document))
        print(results.to_text(document), end="")
    except (environment.Missing, measure.Failed, ValueError, OSError) as e:
        sys.exit(f"rivals: {e}")
    except KeyboardInterrupt:
        sys.exit(130)


main()
