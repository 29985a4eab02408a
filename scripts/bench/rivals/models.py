# SPDX-License-Identifier: Apache-2.0
"""Measures whole models in sten and in other runtimes, in turns on the same processors."""

import argparse
import json
import os
import subprocess
import tempfile

import common
import environment
import model_measure
import model_plan
import model_results
import plan
import results

WRITERS = {
    ".json": model_results.to_json,
    ".csv": model_results.to_csv,
    ".md": model_results.to_markdown,
    ".svg": model_results.to_svg,
}


def parse(arguments):
    p = argparse.ArgumentParser(
        prog="scripts/rivals.sh",
        description="Measures a BERT's encoder, dense and pruned, in sten, PyTorch, ONNX Runtime, OpenVINO and "
        "DeepSparse, in rounds. The rivals live in two virtual environments of Python "
        f"{plan.PYTHON} outside the repository, made from PyPI at first use.",
        epilog="What is measured is listed in scripts/bench/rivals/model_plan.py.",
    )
    many = {"action": "append", "default": None}
    names, sizes = ", ".join(model_plan.MODELS), ", ".join("%dx%d" % s for s in model_plan.SIZES)
    p.add_argument(
        "--model", required=True, metavar="NAME", type=model_of, help=f"{names} or LAYERSxHIDDEN"
    )
    p.add_argument("--batch", type=common.positive, help="sequences (1, with --tokens)")
    p.add_argument("--tokens", type=tokens_of, help=f"of each; without, the sizes are {sizes}")
    p.add_argument(
        "--weights",
        choices=[w.name for w in model_plan.SPARSE],
        help="besides dense ones; repeatable (all)",
        **many,
    )
    p.add_argument("--runtime", choices=list(model_plan.RIVALS), help="repeatable (all)", **many)
    p.add_argument("--quick", action="store_true", help="2 short rounds: whether it works")
    venvs = {n: environment.default_folder(f"{n}-venv") for n in ("models", "deepsparse")}
    p.add_argument("--venv", metavar="DIR", help=f"of all but DeepSparse ({venvs['models']})")
    p.add_argument("--deepsparse-venv", metavar="DIR", help=f"({venvs['deepsparse']})")
    p.add_argument("--folder", metavar="DIR", help="where the models are kept, as ONNX (a cache)")
    p.add_argument("--csv", action="store_true", help="print CSV in place of tables")
    common.add_shared_options(p, model_plan.ROUNDS, f"{model_plan.REPEATS} or more", WRITERS)
    o = p.parse_args(arguments)
    if o.batch and not o.tokens:
        p.error("--batch needs --tokens")
    o.venv = o.venv or venvs["models"]
    o.deepsparse_venv = o.deepsparse_venv or venvs["deepsparse"]
    return o


def model_of(name):
    model_plan.shape_of(name)
    return name


def tokens_of(text):
    if not 1 <= int(text) <= 512:  # BertConfig's positions
        raise ValueError
    return int(text)


def pythons(o, python):
    """By runtime; DeepSparse is left out where it cannot be installed."""
    found = {name: python for name in model_plan.RIVALS if name in (o.runtime or model_plan.RIVALS)}
    if "deepsparse" in found:
        try:
            found["deepsparse"] = environment.prepare(o.deepsparse_venv, model_plan.DEEPSPARSE)
        except common.Missing as e:
            common.say(f"DeepSparse is left out: {e}")
            del found["deepsparse"]
    return found


def export(o, python):
    """The folder with the model as ONNX, dense and pruned by sten-prune, made unless it is there."""
    folder = o.folder or os.path.join(environment.default_folder("rivals-models"), o.model)
    prune = common.find("sten-prune")
    about = {
        "shape": model_plan.shape_of(o.model),
        "weights": [w._asdict() for w in model_plan.SPARSE],
        "packages": model_plan.PACKAGES,
        "sten": common.version_of(prune),
    }
    about, stamp = json.loads(json.dumps(about)), os.path.join(folder, "models.json")
    if os.path.exists(stamp) and common.load(stamp)[1] == about:
        return folder
    common.say(f"exporting {o.model} to {folder}")
    os.makedirs(folder, exist_ok=True)
    if os.path.exists(stamp):
        os.remove(stamp)
    dense = os.path.join(folder, "dense.onnx")
    script = os.path.join(common.HERE, "bert.py")
    made = [python, "-B", script, *map(str, about["shape"]), dense]
    if subprocess.run(made, stdout=subprocess.DEVNULL).returncode:
        raise common.Failed(f"{o.model} cannot be exported")
    for w in model_plan.SPARSE:
        path = os.path.join(folder, f"{model_measure.file_of(w)}.onnx")
        include = ["--include", model_plan.PATTERN, "-f", "-q"]
        common.output_from([prune, dense, "-o", path, *include, *w.prune])
    with open(stamp, "w") as f:
        json.dump(about, f)
    return folder


def run(o):
    program = common.find("sten-run")
    machine = common.machine()
    python = environment.prepare(o.venv, model_plan.PACKAGES)
    rivals = pythons(o, python)
    folder = export(o, python)
    common.hold_to_cpus(o.threads)
    quick = model_plan.QUICK if o.quick else {}
    sizes = [(o.batch or 1, o.tokens)] if o.tokens else model_plan.SIZES
    rows = []
    for batch, tokens in sizes:
        setup = {
            "model": o.model,
            "batch": batch,
            "tokens": tokens,
            "threads": o.threads,
            "weights": [w for w in model_plan.SPARSE if w.name in (o.weights or [w.name])],
            "precisions": ["bfloat16"] if common.bfloat16_here() else [],
            "rounds": o.rounds or quick.get("rounds", model_plan.ROUNDS),
            "repeats": o.repeats or quick.get("repeats"),
            "program": program,
            "version": common.version_of(program),
            "rivals": rivals,
            "folder": folder,
        }
        with tempfile.TemporaryDirectory() as scratch:
            rows += model_measure.measure_size(setup, scratch)
    return {"schema": results.SCHEMA, "machine": machine, "models": rows}


def main(arguments):
    o = parse(arguments)
    if o.merge:
        document = model_results.merge(o.model, [common.load(path) for path in o.merge])
    else:
        document = run(o)
    common.write(o.output, WRITERS, document)
    print((model_results.to_csv if o.csv else model_results.to_text)(document), end="")
