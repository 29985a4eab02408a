# SPDX-License-Identifier: Apache-2.0
"""ONNX models that ask for much in few bytes: see bombs.py. Their input x is FLOAT, [1, 4] mostly."""

import struct

FLOAT, INT64 = 1, 7


# ------------------------------------------------------------------ protobuf, by onnx.proto's fields


def varint(v):
    out, v = bytearray(), v & (1 << 64) - 1
    while v >= 0x80:
        out.append(v & 0x7F | 0x80)
        v >>= 7
    return bytes(out) + bytes([v])


def number(field, v):
    return varint(field << 3) + varint(v)


def message(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def integer(name, v):
    return message(5, message(1, name) + number(3, v) + number(20, 2))


def integers(name, values):
    return message(5, message(1, name) + b"".join(number(8, v) for v in values) + number(20, 7))


def text(name, v):
    return message(5, message(1, name) + message(4, v) + number(20, 3))


def node(op, inputs, outputs, *attributes):
    names = b"".join(message(1, i) for i in inputs) + b"".join(message(2, o) for o in outputs)
    return message(1, names + message(4, op) + b"".join(attributes))


def tensor(name, dims, values, kind=INT64):
    data = struct.pack(f"<{len(values)}{'q' if kind == INT64 else 'f'}", *values)
    return b"".join(number(1, d) for d in dims) + number(2, kind) + message(8, name) + message(9, data)


def port(field, name, dims=(1, 4), kind=FLOAT):
    shape = b"".join(message(1, number(1, d) if isinstance(d, int) else message(2, d)) for d in dims)
    return message(field, message(1, name) + message(2, message(1, number(1, kind) + message(2, shape))))


def model(nodes, tensors=(), dims=(1, 4), outputs=("y",), opset=17):
    graph = b"".join(nodes) + message(2, "graph") + b"".join(message(5, t) for t in tensors)
    graph += port(11, "x", dims) + b"".join(message(12, message(1, o)) for o in outputs)
    return number(1, 8) + message(7, graph) + message(8, number(2, opset))


def filled(name, dims):
    """A constant of zeros: (node, initializer of its shape)."""
    return node("ConstantOfShape", [f"{name}.shape"], [name]), tensor(f"{name}.shape", [len(dims)], dims)


# ------------------------------------------------------------------------------------------ bombs

FAR = (1 << 63) - 1
MOST_NODES = 20000


def run(content):
    """The files of a model and of the array that it is run on."""
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4), }"
    array = b"\x93NUMPY\x01\x00\x76\x00" + f"{header:<117}\n".encode() + struct.pack("<4f", 1, 2, 3, 4)
    return {"in": content, "x.npy": array}


def unused(size):
    parts = [filled(f"c{i}", [1 << 22]) for i in range(size // 70)]
    relu = node("Relu", ["x"], ["y"])
    return run(model([*(n for n, _ in parts), relu], [t for _, t in parts]))


def mean(value, *nodes, tensors):
    """y = x + the mean of a constant."""
    ends = [node("ReduceMean", [value], ["mean"]), node("Add", ["x", "mean"], ["y"])]
    return run(model([*nodes, *ends], tensors))


def added(size):
    parts = [filled(f"c{i}", [1 << 22]) for i in range(size // 80)]
    total = node("Sum", [f"c{i}" for i in range(len(parts))], ["c"])
    return mean("c", *(n for n, _ in parts), total, tensors=[t for _, t in parts])


def products(size):
    fill, shape = filled("m0", [1024, 1024])
    chain = [node("MatMul", [f"m{i}", f"m{i}"], [f"m{i + 1}"]) for i in range(size // 30)]
    return mean(f"m{len(chain)}", fill, *chain, tensors=[shape])


def large(_):
    fill, shape = filled("c", [1 << 40, 4])
    return mean("c", fill, tensors=[shape])


def convolution(_):
    (image, image_shape), (weight, weight_shape) = filled("i", [1, 1, 2048, 2048]), filled("w", [1, 1, 1023, 1023])
    return mean("c", image, weight, node("Conv", ["i", "w"], ["c"]), tensors=[image_shape, weight_shape])


def doubled(dims):
    """The shape of x, doubled by each node."""

    def make(size):
        n = min(60, size // 64)
        join = [node("Concat", [f"d{i}"] * 2, [f"d{i + 1}"], integer("axis", 0)) for i in range(n)]
        ends = [
            node("Cast", [f"d{n}"], ["f"], integer("to", FLOAT)),
            node("ReduceMean", ["f"], ["mean"]),
            node("Add", ["x", "mean"], ["y"]),
        ]
        return run(model([node("Shape", ["x"], ["d0"]), *join, *ends], dims=dims))

    return make


def chain(op):
    def make(size):
        n = min(MOST_NODES, size // 24)
        nodes = [node(op, [f"v{i}" if i else "x"], [f"v{i + 1}"]) for i in range(n)]
        return run(model(nodes, outputs=(f"v{n}",)))

    return make


def outputs(size):
    return run(model([node("Relu", ["x"], ["y"])], outputs=("y",) * min(MOST_NODES, size // 5)))


def inputs(size):
    return run(model([node("Sum", ["x"] * min(MOST_NODES, size // 3), ["y"])]))


def wide(size):
    names = [f"r{i}" for i in range(min(MOST_NODES, size // 30))]
    return run(model([*(node("Relu", ["x"], [r]) for r in names), node("Sum", names, ["y"])]))


def many_attributes(size):
    return run(model([node("Relu", ["x"], ["y"], *(integer(f"a{i}", 1) for i in range(size // 16)))]))


def many_axes(size):
    return run(model([node("ReduceSum", ["x"], ["y"], integers("axes", [0] * (size // 2)))], opset=11))


def attribute(op, name, value, dims=(1, 4, 2, 2)):
    kind = integers if isinstance(value, list) else integer
    return lambda _: run(model([node(op, ["x"], ["y"], kind(name, value))], dims=dims))


def slice_by(step):
    """The shape of x from 1 on by such a step."""
    lists = [tensor(n, [1], [v]) for n, v in (("begin", 1), ("end", FAR), ("axis", 0), ("step", step))]
    steps = node("Slice", ["s", "begin", "end", "axis", "step"], ["a"])
    nodes = [node("Shape", ["x"], ["s"]), steps, node("Cast", ["a"], ["y"], integer("to", FLOAT))]
    return lambda _: run(model(nodes, lists, dims=("N", 4)))


FORMATS = {
    "onnx": (
        {
            "constants without a use": unused,
            "a chain of Relu": chain("Relu"),
            "sums of constants": added,
            "the shape doubled": doubled((1, 4)),
            "products of constants": products,
            "one output, often": outputs,
            "a symbolic shape doubled": doubled(("N", "M")),
            "one input, often": inputs,
            "a large constant": large,
            "a chain of Softmax": chain("Softmax"),
            "a large convolution": convolution,
            "many values at once": wide,
            "many attributes": many_attributes,
            "many axes": many_axes,
            "blocks of 2^32": attribute("DepthToSpace", "blocksize", 1 << 32),
            "Einsum without inputs": lambda _: run(model([node("Einsum", [], ["y"], text("equation", ""))])),
            "a window of 2^63": attribute("MaxPool", "kernel_shape", [FAR, FAR]),
            "steps of 2^63": slice_by(FAR),
            "steps of -2^63": slice_by(-FAR - 1),
        },
        [["run", "IN", "--input", "x.npy", "-o", "OUT.npy"], ["energy", "IN"]],
    )
}
