#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes bert.onnx, which imported_test.cpp trains: a BERT of two layers with random weights, as torch.onnx exports it.
It takes PyTorch, transformers and onnx.

    make_bert_onnx.py                          writes bert.onnx beside itself
    make_bert_onnx.py DIRECTORY MODEL.onnx     exports the BERT of a HuggingFace directory
"""

import pathlib
import sys

import torch
from transformers import BertConfig, BertForMaskedLM


def small():
    torch.manual_seed(23)
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=11,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=24,
            initializer_range=0.1,
            attn_implementation="eager",
        )
    )
    # Biases of zeros are one tensor to the exporter, and would be trained as one.
    with torch.no_grad():
        for p in model.parameters():
            p += 0.02 * torch.randn_like(p)
    return model


def export(model, path):
    model.eval()
    model.config.return_dict = False
    names = ["input_ids", "attention_mask", "token_type_ids"]
    ids = torch.zeros(2, 5, dtype=torch.long)
    torch.onnx.export(
        model,
        (ids, torch.ones_like(ids), torch.zeros_like(ids)),
        str(path),
        input_names=names,
        output_names=["logits"],
        dynamic_axes={n: {0: "batch", 1: "tokens"} for n in [*names, "logits"]},
        opset_version=17,
        dynamo=False,
        # Else matrices are copies of other names, and the decoder one of the embeddings.
        do_constant_folding=False,
    )


if len(sys.argv) > 1:
    export(BertForMaskedLM.from_pretrained(sys.argv[1], attn_implementation="eager"), sys.argv[2])
else:
    export(small(), pathlib.Path(__file__).parent / "bert.onnx")
