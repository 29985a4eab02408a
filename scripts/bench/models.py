#!/usr/bin/env python3
"""Measures whole BERTs in sten and in other runtimes, in turns on the same processors.

  models.py export DIR [--layers 12] [--hidden 768]
      the encoder of a BERT with random weights as ONNX, dense and pruned by sten-prune: DIR/dense.onnx,
      DIR/nmg-1-10-4.onnx, DIR/csr-0.9.onnx and so on
  models.py run DIR [--batch 8] [--tokens 512] [--threads N] [--rounds 3] [--only NAME]
      a forward pass of each file: sten-run, with the layout that its name says, beside PyTorch, ONNX Runtime,
      OpenVINO and DeepSparse on the dense one, and beside DeepSparse on the others

It takes torch, transformers, onnx, onnxruntime, openvino, safetensors and numpy; and for DeepSparse, which wants
another numpy, a second Python: --deepsparse /path/to/python. A runtime that cannot be imported is left out. sten's
programs are found in build/bin or PATH. All compute in float32; in OpenVINO and PyTorch that is asked for. Each figure
is the median of a process's runs; a round has a process for each runtime and file."""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
VARIANTS = {
    "nmg-1-4-4": ["--structure", "1:4:4"],
    "nmg-1-10-4": ["--structure", "1:10:4"],
    "nmg-1-20-4": ["--structure", "1:20:4"],
    "csr-0.75": ["--sparsity", "0.75"],
    "csr-0.9": ["--sparsity", "0.9"],
}
PRUNED = "encoder.layer.*.weight"


def program(name):
    beside = ROOT / "build/bin" / name
    return str(beside) if beside.exists() else shutil.which(name)


def layout_of(name):
    kind, *numbers = name.split("-")
    if kind == "nmg":
        return "nmg:n={},m={},g={}".format(*numbers)
    return "csr" if kind == "csr" else None


def export(folder, layers, hidden):
    import torch
    import transformers
    from safetensors.torch import load_file, save_file

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    config = transformers.BertConfig(num_hidden_layers=layers, hidden_size=hidden, intermediate_size=4 * hidden,
                                     num_attention_heads=hidden // 64, attn_implementation="eager")
    model = transformers.BertModel(config, add_pooling_layer=False).eval()

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.embeddings = model.encoder, model.embeddings

        def forward(self, ids):
            return self.encoder(self.embeddings(ids))[0]

    weights = folder / "weights.safetensors"
    save_file({k: v.contiguous() for k, v in model.state_dict().items()}, str(weights))
    for name in ["dense", *VARIANTS]:
        if name != "dense":
            pruned = folder / "pruned.safetensors"
            subprocess.run([program("sten-prune"), str(weights), "-o", str(pruned), "-f", "-q", "--include", PRUNED,
                            *VARIANTS[name]], check=True)
            model.load_state_dict(load_file(str(pruned)))
            pruned.unlink()
        # Without folding, linear layers keep their weights' names and orientation.
        torch.onnx.export(Encoder(), torch.zeros(2, 16, dtype=torch.int64), str(folder / f"{name}.onnx"),
                          input_names=["ids"], output_names=["y"], opset_version=14, do_constant_folding=False,
                          dynamic_axes={"ids": {0: "batch", 1: "tokens"}, "y": {0: "batch", 1: "tokens"}})
    weights.unlink()


def median_ms(run, repeats):
    seconds = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(seconds[1:])


def ours(path, ids, threads, repeats):
    arguments = [program("sten-run"), str(path), "--input", f"ids={ids}", "--threads", str(threads), "--repeats",
                 str(repeats), "--json"]
    if layout_of(path.stem):
        arguments += ["--layouts", f"encoder.layer.*.weight={layout_of(path.stem)}"]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    return 1e3 * json.loads(done.stdout)["latency"]["p50"]


def forward(runtime, path, ids, threads, repeats):
    import numpy

    x = numpy.load(ids)
    if runtime == "PyTorch":
        import onnx
        import torch
        import transformers

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        sizes = {i.name: i.dims for i in onnx.load(path, load_external_data=False).graph.initializer}
        hidden = sizes["embeddings.word_embeddings.weight"][1]
        layers = 1 + max(int(n.split(".")[2]) for n in sizes if n.startswith("encoder.layer."))
        config = transformers.BertConfig(num_hidden_layers=layers, hidden_size=hidden, intermediate_size=4 * hidden,
                                         num_attention_heads=hidden // 64)
        model, tokens = transformers.BertModel(config, add_pooling_layer=False).eval(), torch.from_numpy(x)
        return median_ms(lambda: model(tokens), repeats)
    if runtime == "ONNX Runtime":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(path, options)
        return median_ms(lambda: session.run(None, {"ids": x}), repeats)
    if runtime == "OpenVINO":
        import openvino

        model = openvino.Core().read_model(path)
        model.reshape(list(x.shape))
        settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        request = openvino.Core().compile_model(model, "CPU", settings).create_infer_request()
        return median_ms(lambda: request.infer({0: x}), repeats)
    import deepsparse

    engine = deepsparse.Engine(path, batch_size=x.shape[0], num_cores=threads, input_shapes=[list(x.shape)])
    return median_ms(lambda: engine.run([x]), repeats)


def apart(python, *arguments):
    """The figure of a runtime in a process of its own; None where it does not run."""
    done = subprocess.run([python, __file__, "--worker", *map(str, arguments)], capture_output=True, text=True)
    return float(done.stdout.split()[-1]) if done.returncode == 0 and done.stdout.split() else None


def measure(o):
    import numpy

    ids = o.folder / "ids.npy"
    numpy.save(ids, numpy.random.default_rng(0).integers(0, 30522, (o.batch, o.tokens)))
    names = o.only or ["dense", *VARIANTS]
    taken = {}  # (file, runtime): medians of processes
    for _ in range(o.rounds):
        for name in names:
            path = o.folder / f"{name}.onnx"
            runtimes = ["PyTorch", "ONNX Runtime", "OpenVINO", "DeepSparse"] if name == "dense" else ["DeepSparse"]
            taken.setdefault((name, "sten"), []).append(ours(path, ids, o.threads, o.repeats))
            for runtime in runtimes:
                python = o.deepsparse if runtime == "DeepSparse" and o.deepsparse else sys.executable
                ms = apart(python, runtime, path, ids, o.threads, o.repeats)
                if ms is not None:
                    taken.setdefault((name, runtime), []).append(ms)
    print(f"{o.batch} sequences of {o.tokens} tokens, {o.threads} thread(s), {o.rounds} rounds: median ms of a forward pass\n")
    print("| model | sten | rivals | sten is faster than the best of them by |\n|---|---|---|---|")
    for name in names:
        rivals = {r: statistics.median(v) for (n, r), v in taken.items() if n == name and r != "sten"}
        mine = statistics.median(taken[name, "sten"])
        others = ", ".join(f"{r} {v:.0f}" for r, v in sorted(rivals.items(), key=lambda x: x[1]))
        best = f"{min(rivals.values()) / mine:.2f}x" if rivals else ""
        print(f"| {name} | {mine:.0f} | {others} | {best} |", flush=True)


def main():
    if sys.argv[1:2] == ["--worker"]:
        runtime, path, ids, *numbers = sys.argv[2:]
        return print(forward(runtime, path, ids, *map(int, numbers)))
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["export", "run"])
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--layers", type=int, default=12)
    p.add_argument("--hidden", type=int, default=768)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--tokens", type=int, default=512)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--only", action="append")
    p.add_argument("--deepsparse", help="a Python with deepsparse")
    o = p.parse_args()
    if o.what == "export":
        return export(o.folder, o.layers, o.hidden)
    return measure(o)


main()
