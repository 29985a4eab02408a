# SPDX-License-Identifier: Apache-2.0
"""Writes the files that torch_file_test.cpp reads: needs PyTorch, which the tests do not.

    python make_files.py     writes beside itself
"""
import collections
import os

import torch

here = os.path.dirname(os.path.abspath(__file__))


def save(name, value, **options):
    torch.save(value, os.path.join(here, name), **options)


def count(shape, dtype=torch.float32):
    """0, 1, 2, ... in row-major order."""
    n = 1
    for extent in shape:
        n *= extent
    return torch.arange(n).to(dtype).reshape(shape)


torch.manual_seed(0)
base = count((4, 6))
shared = count((3, 2))
state = collections.OrderedDict()
state["plain.weight"] = count((2, 3))
state["scalar"] = torch.tensor(7.0)
state["empty"] = torch.zeros(0, 4)
state["transposed"] = base.t()
state["rows"] = base[1:3]
state["columns"] = base[:, 1:4]
state["channels_last"] = count((2, 3, 2, 2)).to(memory_format=torch.channels_last)
state["tied.a"] = shared
state["tied.b"] = shared
for dtype in ("float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64"):
    state[dtype] = count((2, 2), getattr(torch, dtype))
save("state.pt", state)
save("old.pt", state, _use_new_zipfile_serialization=False)
save("protocol4.pt", state, pickle_protocol=4)

model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
optimizer = torch.optim.Adam(model.parameters())
model(count((4, 2))).sum().backward()
optimizer.step()
with torch.no_grad():
    model[0].weight.copy_(count((3, 2)))
save("trainer.ckpt", {"epoch": 3, "loss": 0.5, "state_dict": model.state_dict(),
                      "optimizer": optimizer.state_dict(), "name": "x"})
save("parameters.pt", {"w": torch.nn.Parameter(count((2, 2))), "nested": {"list": [count((2,)), count((3,))]}})
if hasattr(torch, "float8_e4m3fn"):
    save("float8.pt", {"e4m3": count((2, 2)).to(torch.float8_e4m3fn), "u16": count((2, 2)).to(torch.uint16)})
save("tensor.pt", count((2, 2)))
save("module.pt", model)
save("sparse.pt", {"s": count((2, 2)).to_sparse()})
save("complex128.pt", {"c": count((2, 2), torch.complex128)})
