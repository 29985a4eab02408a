# SPDX-License-Identifier: Apache-2.0
"""The encoder of a BERT with random weights, from ids to the last layer's output:

    bert.py LAYERS HIDDEN FILE.onnx

exports it, for any number of sequences and tokens."""

import sys

import torch
import transformers


class Encoder(torch.nn.Module):
    """attention: as transformers name it; what is exported has to be "eager"."""

    def __init__(self, layers, hidden, attention):
        super().__init__()
        config = transformers.BertConfig(
            num_hidden_layers=layers,
            hidden_size=hidden,
            intermediate_size=4 * hidden,
            num_attention_heads=hidden // 64,
            attn_implementation=attention,
        )
        model = transformers.BertModel(config, add_pooling_layer=False)
        self.embeddings, self.encoder = model.embeddings, model.encoder

    def forward(self, ids):
        return self.encoder(self.embeddings(ids))[0]


def export(layers, hidden, path):
    torch.manual_seed(0)
    free = {0: "batch", 1: "tokens"}
    # Without folding, linear layers keep their weights' names and orientation.
    torch.onnx.export(
        Encoder(layers, hidden, "eager").eval(),
        torch.zeros(2, 16, dtype=torch.int64),
        path,
        input_names=["ids"],
        output_names=["y"],
        opset_version=14,
        do_constant_folding=False,
        dynamic_axes={"ids": free, "y": free},
    )


if __name__ == "__main__":
    export(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
