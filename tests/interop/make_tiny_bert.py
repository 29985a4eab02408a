#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tiny-bert, which huggingface_interop.py prunes: a BERT of two layers with random weights. It takes PyTorch
and transformers."""

import pathlib

import torch
from transformers import BertConfig, BertForMaskedLM

torch.manual_seed(22)
config = BertConfig(
    vocab_size=60,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    max_position_embeddings=16,
    initializer_range=0.3,  # so that every weight shows in what the model says
)
model = BertForMaskedLM(config)
model.save_pretrained(pathlib.Path(__file__).parent / "tiny-bert")
