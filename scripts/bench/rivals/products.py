# SPDX-License-Identifier: Apache-2.0
"""Measures sten beside PyTorch, ONNX Runtime, DeepSparse and TVM on the same products."""

import argparse

import chart
import common
import environment
import measure
import plan
import results

WRITERS = {
    ".json": results.to_json,
    ".csv": results.to_csv,
    ".md": results.to_markdown,
    ".svg": chart.to_svg,
}


def parse(arguments):
    p = argparse.ArgumentParser(
        prog="scripts/rivals.sh",
        description="Measures sten beside PyTorch, ONNX Runtime, DeepSparse and TVM on the same products, in rounds, "
        "and says every figure as a ratio to the fastest dense product of its round. The rivals live in a "
        f"virtual environment of Python {plan.PYTHON} outside the repository, made from PyPI at first use.",
        epilog="What is measured is listed in scripts/bench/rivals/plan.py.",
    )
    many = {"action": "append", "default": None}
    p.add_argument("--model", metavar="NAME", help="whole models instead; --model bert-base --help")
    p.add_argument("--form", choices=plan.FORMS, help="as of sten-bench; repeatable (all)", **many)
    p.add_argument("--shape", type=shape_of, help="MxKxN (%s)" % "x".join(map(str, plan.SHAPE)))
    p.add_argument("--sparsity", type=sparsity_of, help="repeatable (0.5, 0.75, 0.9, 0.95)", **many)
    p.add_argument(
        "--quick", action="store_true", help="a small shape and 2 rounds: whether it works"
    )
    p.add_argument("--runtime", choices=plan.RUNTIMES, help="repeatable (all)", **many)
    p.add_argument(
        "--venv", metavar="DIR", help=f"the rivals' environment ({environment.default_folder()})"
    )
    common.add_shared_options(p, plan.LEAST_ROUNDS, plan.REPEATS, WRITERS)
    return p.parse_args(arguments)


def sparsity_of(text):
    if not 0 < float(text) < 1:
        raise ValueError
    return float(text)


def shape_of(text):
    m, k, n = map(common.positive, text.split("x"))
    return m, k, n


def run(o):
    quick = plan.QUICK if o.quick else {}
    runtimes = [r for r in plan.RUNTIMES if r in (o.runtime or plan.RUNTIMES)]
    program = common.find("sten-bench")
    python = None
    if runtimes != ["sten"]:
        python = environment.prepare(o.venv or environment.default_folder(), plan.PACKAGES)
    machine = common.machine()
    common.hold_to_cpus(o.threads)
    rows = []
    for form in o.form or plan.FORMS:
        setup = {
            "form": form,
            "shape": o.shape or quick.get("shape", plan.SHAPE),
            "threads": o.threads,
            "sparsities": o.sparsity or plan.SPARSITIES,
            "precisions": ["bfloat16"] if common.bfloat16_here() else [],
            "rounds": o.rounds or quick.get("rounds", plan.LEAST_ROUNDS),
            "repeats": o.repeats or quick.get("repeats", plan.REPEATS),
            "version": common.version_of(program),
        }
        rows += results.summarize(setup, measure.measure_form(setup, runtimes, program, python))
    return {
        "schema": results.SCHEMA,
        "machine": machine,
        "results": rows,
    }


def main(arguments):
    o = parse(arguments)
    document = results.merge([common.load(path) for path in o.merge]) if o.merge else run(o)
    common.write(o.output, WRITERS, document)
    print(results.to_text(document), end="")
