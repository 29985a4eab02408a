# SPDX-License-Identifier: Apache-2.0
"""One rival with one model in a process of its own, which stays warm. Reads a request in JSON from
each line of stdin and answers with one line on what was stdout; what the runtime prints goes to
stderr.

    model_worker.py RUNTIME PRECISION MODEL.onnx IDS.npy REFERENCE.npy THREADS

First says {"runtime", "version", "note", "difference", "largest"}, once the output was compared with
the reference: the largest difference of two elements, and the largest element there. {"repeats"} is
answered by {"ms"}, the median of so many runs after one that does not count.
"""

import json
import os
import shutil
import sys
import tempfile
import time

import numpy as np

import model_plan


def torch_variants(path, ids, threads, precision):
    import bert
    import onnx
    import torch

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    weights = {i.name: onnx.numpy_helper.to_array(i) for i in onnx.load(path).graph.initializer}
    layers = 1 + max(int(n.split(".")[2]) for n in weights if n.startswith("encoder.layer."))
    model = bert.Encoder(layers, weights["embeddings.word_embeddings.weight"].shape[1], "sdpa")
    # The file has of equal biases and norms but one, which are as they are initialized.
    model.load_state_dict({n: torch.tensor(w) for n, w in weights.items()}, strict=False)
    model = model.eval().to(getattr(torch, precision))
    ids = torch.from_numpy(ids)
    frozen = torch.jit.freeze(torch.jit.trace(model, (ids,)))
    yield "eager", torch.__version__, lambda: model(ids).float().numpy()
    yield "traced and frozen", torch.__version__, lambda: frozen(ids).float().numpy()


def onnxruntime_variants(path, ids, threads, precision):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    yield "", onnxruntime.__version__, lambda: session.run(None, {"ids": ids})[0]


def openvino_variants(path, ids, threads, precision):
    import openvino

    core = openvino.Core()
    model = core.read_model(path)
    model.reshape(list(ids.shape))
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": {"float32": "f32", "bfloat16": "bf16"}[precision],
    }
    request = core.compile_model(model, "CPU", settings).create_infer_request()
    yield "", openvino.__version__.split("-")[0], lambda: request.infer({0: ids})[0]


def deepsparse_variants(path, ids, threads, precision):
    os.environ["NM_DISABLE_ANALYTICS"] = "True"  # else it reports its use over the network
    import deepsparse

    with tempfile.TemporaryDirectory() as folder:
        own = shutil.copy(path, folder)  # it writes the shapes into the file
        engine = deepsparse.Engine(
            own,
            batch_size=len(ids),
            num_cores=threads,
            scheduler=deepsparse.Scheduler.single_stream,
            input_shapes=[list(ids.shape)],
        )
    yield "", deepsparse.__version__, lambda: engine.run([ids])[0]


def measure(run, repeats):
    seconds = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds[1:]))


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    name, precision, path, ids, reference, threads = sys.argv[1:]

    def answer(what):
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    wanted = np.load(reference)
    best = None
    for note, version, run in globals()[f"{name}_variants"](path, np.load(ids), int(threads), precision):
        off, largest = float(np.abs(run() - wanted).max()), float(np.abs(wanted).max())
        if precision == "float32" and not off <= model_plan.FURTHEST * largest:
            sys.exit(f"its output is off by {off:.2g}, with elements of up to {largest:.2g}")
        took = measure(run, 2)
        if best is None or took < best[0]:
            best = took, run, dict(note=note, version=version, difference=off, largest=largest)
    answer({"runtime": model_plan.NAMES[name], **best[2]})
    for line in sys.stdin:
        answer({"ms": 1e3 * measure(best[1], json.loads(line)["repeats"])})


main()
