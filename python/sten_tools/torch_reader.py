# SPDX-License-Identifier: Apache-2.0
"""Reads what sten writes, in any layout, into PyTorch: state_dict(path) -> {name: tensor}, without ml_dtypes.
The path may be a directory. state_dict(path, sparse=True) has matrices that are stored in a sparse layout as
torch.sparse_csr. A HuggingFace model, of a directory that sten-prune wrote:

    from transformers import BertForMaskedLM  # or what config.json calls "architectures"
    from sten_tools.torch_reader import state_dict
    model = BertForMaskedLM.from_pretrained(None, config=path, state_dict=state_dict(path))
"""
import numpy as np
import torch

from . import reader


def tensor(dtype, bits):
    bits = np.require(bits, requirements="CAW")  # data need not be aligned in a file
    if dtype not in reader.SMALL:
        return torch.from_numpy(bits)
    # Signed, since older versions have no other integers of two bytes.
    return torch.from_numpy(bits.view(f"i{bits.itemsize}")).view(getattr(torch, reader.SMALL[dtype]))


def state_dict(path, sparse=False):
    all = {}
    for name, layout, dtype, bits in reader.tensors(path):
        x = tensor(dtype, bits)
        is_csr = sparse and layout != "dense" and x.ndim == 2 and dtype in ("F64", "F32", "F16", "BF16")
        all[name] = x.to_sparse_csr() if is_csr else x
    return all
