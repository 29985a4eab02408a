# SPDX-License-Identifier: Apache-2.0
"""The rivals. Each has variants(form, weights, x, sparse): candidates of the same product, of which the
fastest counts. A way is (note, run); run() returns the result, or for a note "transposed" one that is
its transpose. Weights are [M, K], of a chain [M, K] and [K, M], as W in Y = X W^T. Those that have
low_precision_variants(form, weights, x) compute dense products in bfloat16 with it, from activations that are
bfloat16 to results that are; array(result) is one as numpy has it."""

import os
import tempfile

import numpy as np

import plan


def cpu_isa():
    """What a library that chooses for itself chooses."""
    with open("/proc/cpuinfo") as f:
        return "avx512" if " avx512f" in f.read() else "avx2"


class Torch:
    name = "PyTorch"

    def __init__(self, threads):
        import torch

        self.torch = torch
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.version = torch.__version__
        self.isa = torch.backends.cpu.get_cpu_capability().lower()

    def variants(self, form, weights, x, sparse):
        t = self.torch
        given = [t.from_numpy(w) for w in weights]
        x = t.from_numpy(x)
        return list((self.sparse if sparse else self.dense)(form, given, x))

    def low_precision_variants(self, form, weights, x):
        given = [self.torch.from_numpy(a).bfloat16() for a in (*weights, x)]
        return list(self.dense(form, given[:-1], given[-1]))

    def array(self, result):
        return result.float().numpy()

    def dense(self, form, ws, x):
        t = self.torch
        linear = t.nn.functional.linear
        if form == "gemm":
            y = t.empty(ws[0].shape[0], x.shape[1], dtype=x.dtype)
            yield "", lambda: t.mm(ws[0], x, out=y)
        elif form == "linear":
            y = t.empty(x.shape[0], ws[0].shape[0], dtype=x.dtype)
            yield "", lambda: t.mm(x, ws[0].t(), out=y)
            yield "", lambda: linear(x, ws[0])
        else:
            ys = [t.empty(x.shape[0], w.shape[0], dtype=x.dtype) for w in ws]

            def chain():
                h = x
                for i in range(plan.CHAIN):
                    h = t.mm(h, ws[i % 2].t(), out=ys[i % 2])
                return h

            yield "", chain

    def sparse(self, form, ws, x):
        t = self.torch
        linear = t.nn.functional.linear
        csr = [w.to_sparse_csr() for w in ws]
        if form == "gemm":
            y = t.empty(ws[0].shape[0], x.shape[1])
            yield "", lambda: csr[0] @ x
            yield "", lambda: t.mm(csr[0], x, out=y)
        elif form == "linear":
            yield "", lambda: linear(x, csr[0])
            yield "", lambda: (csr[0] @ x.t()).t().contiguous()
        else:

            def chain():  # features by tokens throughout, so that nothing is transposed between
                h = x.t()
                for i in range(plan.CHAIN):
                    h = csr[i % 2] @ h
                return h.t()

            yield "", chain


def onnx_model(form, weights, lead, node="MatMul"):
    """Of activations [*lead, K], lead being the tokens in any shape; of a gemm [K, *lead]. node:
    "MatMul", or "Gemm" with its transB. Returns the model and the shape of its input."""
    from onnx import TensorProto, helper, numpy_helper

    nodes, last = [], "x"
    for i in range(plan.CHAIN if form == "chain" else 1):
        w, y = f"w{i % len(weights)}", f"y{i}"
        inputs = [w, last] if form == "gemm" else [last, w]
        nodes.append(
            helper.make_node(node, inputs, [y], **({"transB": 1} if node == "Gemm" else {}))
        )
        last = y
    features = weights[-1].shape[0]
    shape, out = [*lead, weights[0].shape[1]], [*lead, features]
    if form == "gemm":
        shape, out = shape[::-1], out[::-1]
    keep = form == "gemm" or node == "Gemm"
    initializers = [
        numpy_helper.from_array(w if keep else np.ascontiguousarray(w.T), f"w{i}")
        for i, w in enumerate(weights)
    ]
    graph = helper.make_graph(
        nodes,
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, out)],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return model, shape


class OnnxRuntime:
    name = "ONNX Runtime"
    array = staticmethod(np.asarray)

    def __init__(self, threads):
        import onnxruntime

        self.ort = onnxruntime
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.inter_op_num_threads = 1
        self.version = onnxruntime.__version__
        self.isa = cpu_isa()

    def variants(self, form, weights, x, sparse):
        if form == "gemm":
            said = [([x.shape[1]], "MatMul")]
        else:
            said = [([len(x)], "MatMul"), ([1, len(x)], "MatMul"), ([len(x)], "Gemm")]
        for lead, node in said:
            model, shape = onnx_model(form, weights, lead, node)
            session = self.ort.InferenceSession(
                model.SerializeToString(), self.options, providers=["CPUExecutionProvider"]
            )
            given = {"x": x.reshape(shape)}
            yield "", lambda session=session, given=given: session.run(None, given)[0]


class DeepSparse:
    name = "DeepSparse"
    array = staticmethod(np.asarray)

    def __init__(self, threads):
        os.environ["NM_DISABLE_ANALYTICS"] = "True"  # else it reports its use over the network
        import deepsparse

        self.deepsparse = deepsparse
        self.threads = threads
        self.version = deepsparse.__version__
        self.isa = deepsparse.cpu.cpu_architecture()["isa"]

    def variants(self, form, weights, x, sparse):
        # A weight on the left side is not among what it makes fast (it takes as long as a plain
        # loop), so it multiplies in its own form.
        note = "transposed" if form == "gemm" else ""
        if form == "gemm":
            form, x = "linear", np.ascontiguousarray(x.T)
        # It is fastest where tokens are sequences that are neither long nor short, and compiles
        # sparse weights for one long sequence for up to two minutes.
        tokens = len(x)
        leads = [[tokens // t, t] for t in (256, 128, 64) if tokens % t == 0] or [[tokens]]
        for lead in leads:
            model, shape = onnx_model(form, weights, lead)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.onnx")
                with open(path, "wb") as f:
                    f.write(model.SerializeToString())
                engine = self.deepsparse.Engine(
                    path,
                    batch_size=shape[0],
                    num_cores=self.threads,
                    scheduler=self.deepsparse.Scheduler.single_stream,
                )
            given = [x.reshape(shape)]
            yield note, lambda engine=engine, given=given: engine.run(given)[0]


def divisor(n, most):
    return max(d for d in range(1, min(n, most) + 1) if n % d == 0)


class TVM:
    """Dense products only, by the schedule of TVM's tutorial on matrix products: blocks of both
    factors in the caches, of which the right one is packed, and a tile in registers."""

    name = "TVM"
    # Of rows, columns and depth; and of rows and columns in registers.
    SIZES = [((192, 512, 384), (6, 64)), ((96, 2048, 256), (6, 64)), ((192, 1024, 256), (12, 32))]

    def __init__(self, threads):
        os.environ["TVM_NUM_THREADS"] = str(threads)
        import tvm
        from tvm import te
        from tvm.s_tir import Schedule

        self.tvm, self.te, self.schedule = tvm, te, Schedule
        self.version = tvm.__version__
        self.isa = cpu_isa()
        cpu = {"avx512": "skylake-avx512", "avx2": "haswell"}[self.isa]
        self.target = tvm.target.Target({"kind": "llvm", "mcpu": cpu})

    def array(self, result):
        return result.numpy()

    def compiled(self, rows, depth, columns, blocks, tile):
        """f(a, b, c), which writes the product of a [rows, depth] and b [depth, columns] to c."""
        te = self.te
        a, b = te.placeholder((rows, depth), name="a"), te.placeholder((depth, columns), name="b")
        k = te.reduce_axis((0, depth), name="k")
        c = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
        s = self.schedule(self.tvm.IRModule({"main": te.create_prim_func([a, b, c])}))
        block = s.get_sblock("c")
        i, j, k = s.get_loops(block)
        high, wide = divisor(rows, tile[0]), divisor(columns, tile[1])
        i, i_block, i_tile = s.split(i, [None, divisor(rows // high, blocks[0] // high), high])
        j, j_block, j_tile = s.split(j, [None, divisor(columns // wide, blocks[1] // wide), wide])
        k, k_block = s.split(k, [None, divisor(depth, blocks[2])])
        s.reorder(j, k, i, j_block, i_block, k_block, i_tile, j_tile)
        packed = s.cache_read(block, 1, "global")
        s.compute_at(packed, k)
        s.transform_layout(block, ("read", 1), lambda x, y: (y // wide, x, y % wide))
        s.vectorize(s.get_loops(packed)[-1])
        s.vectorize(j_tile)
        s.unroll(i_tile)
        s.parallel(j)
        s.vectorize(s.get_loops(s.decompose_reduction(block, k))[-1])
        return self.tvm.compile(s.mod, target=self.target)["main"]

    def variants(self, form, weights, x, sparse):
        tensor = self.tvm.runtime.tensor
        factors = weights if form == "gemm" else [np.ascontiguousarray(w.T) for w in weights]
        x, factors = tensor(x), [tensor(w) for w in factors]
        for blocks, tile in self.SIZES:
            steps = []
            for w in factors:
                a, b = (w, x) if form == "gemm" else (x, w)
                rows, columns = a.shape[0], b.shape[1]
                multiply = self.compiled(rows, b.shape[0], columns, blocks, tile)
                y = tensor(np.zeros((rows, columns), np.float32))
                steps.append((multiply, w, y))

            def run(steps=steps):
                h = x
                for i in range(plan.CHAIN if form == "chain" else 1):
                    multiply, w, y = steps[i % len(steps)]
                    multiply(*((w, h) if form == "gemm" else (h, w)), y)
                    h = y
                return h

            yield "", run


CLASSES = {"torch": Torch, "onnxruntime": OnnxRuntime, "deepsparse": DeepSparse, "tvm": TVM}
