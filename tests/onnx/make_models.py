#!/usr/bin/env python3
"""Exports small models with random weights, and what ONNX Runtime says of them, for exports_test.cpp.

  make_models.py [DIR] [--large]     DIR: models/ beside this script

It takes torch, transformers, onnx, onnxruntime, onnxscript and safetensors. For each model and exporter it writes
MODEL-EXPORTER.onnx, and for each model MODEL.safetensors: inputs and outputs by names such as b2s7.in.input_ids,
where a batch has two examples of seven tokens."""

import argparse
import pathlib
import warnings

import numpy
import onnx
import onnxruntime
import torch
import transformers as hf
from safetensors.numpy import save_file
from torch import nn

warnings.filterwarnings("ignore")
EXPORTERS = {"opset14": 14, "opset17": 17, "dynamo18": 18}
ATTENTION = {"opset14": "eager", "opset17": "sdpa", "dynamo18": "sdpa"}  # of transformers
SIZES = [(2, 7), (3, 12)]
PATCH, IMAGE, CHANNELS, FEATURES = 4, 12, 3, 20


class Logits(nn.Module):
    """A model of transformers with the inputs by position and one output."""

    def __init__(self, model, names, output="logits", **others):
        super().__init__()
        self.model, self.names, self.output, self.others = model, names, output, others

    def forward(self, *inputs):
        return self.model(**dict(zip(self.names, inputs)), **self.others)[self.output]


class Patches(nn.Module):
    """The patch embedding of a ViT without its convolution: kernel extents must be in [1, 2^31], got the stride, so it is a linear layer."""

    def __init__(self, channels, patch, hidden):
        super().__init__()
        self.patch = patch
        self.projection = nn.Linear(channels * patch * patch, hidden)

    def forward(self, pixels, interpolate_pos_encoding=False):
        b, c, h, w = pixels.shape
        p = self.patch
        x = pixels.reshape(b, c, h // p, p, w // p, p).permute(0, 2, 4, 1, 3, 5)
        return self.projection(x.reshape(b, (h // p) * (w // p), c * p * p))


class Speech(nn.Module):
    """The transformer of wav2vec2. Its positional embedding is a convolution and is left out."""

    def __init__(self, config):
        super().__init__()
        self.encoder = hf.models.wav2vec2.modeling_wav2vec2.Wav2Vec2Encoder(config)
        self.encoder.pos_conv_embed = nn.Identity()

    def forward(self, hidden_states, attention_mask):
        return self.encoder(hidden_states * 1.0, attention_mask=attention_mask.bool()).last_hidden_state


def models(d, layers, vocab):
    """For each name a function that makes (model, inputs, output)."""
    scale = 0.8 / d**0.5
    text = dict(
        vocab_size=vocab, hidden_size=d, num_hidden_layers=layers, num_attention_heads=4, intermediate_size=2 * d,
        max_position_embeddings=20, initializer_range=scale,
    )  # fmt: skip
    no_cache = {"use_cache": False}

    def bert():
        names = ["input_ids", "attention_mask", "token_type_ids"]
        return Logits(hf.BertForMaskedLM(hf.BertConfig(**text)), names), names, "logits"

    def roberta():
        names = ["input_ids", "attention_mask"]
        return Logits(hf.RobertaForMaskedLM(hf.RobertaConfig(**text, pad_token_id=1)), names), names, "logits"

    def distilbert():
        config = hf.DistilBertConfig(
            vocab_size=vocab, dim=d, n_layers=layers, n_heads=4, hidden_dim=2 * d, max_position_embeddings=20,
            initializer_range=scale,
        )  # fmt: skip
        names = ["input_ids", "attention_mask"]
        return Logits(hf.DistilBertForMaskedLM(config), names), names, "logits"

    def gpt2():
        config = hf.GPT2Config(
            vocab_size=vocab, n_embd=d, n_layer=layers, n_head=4, n_inner=2 * d, n_positions=20,
            initializer_range=scale, bos_token_id=0, eos_token_id=0,
        )  # fmt: skip
        names = ["input_ids", "attention_mask"]
        return Logits(hf.GPT2LMHeadModel(config), names, **no_cache), names, "logits"

    def vit():
        config = hf.ViTConfig(
            hidden_size=d, num_hidden_layers=layers, num_attention_heads=4, intermediate_size=2 * d,
            image_size=IMAGE, patch_size=PATCH, num_channels=CHANNELS, num_labels=5, initializer_range=scale,
        )  # fmt: skip
        model = hf.ViTForImageClassification(config)
        model.vit.embeddings.patch_embeddings = Patches(CHANNELS, PATCH, d)
        return Logits(model, ["pixel_values"]), ["pixel_values"], "logits"

    def mlp():
        model = nn.Sequential(
            nn.Linear(FEATURES, d), nn.GELU("tanh"), nn.Linear(d, d), nn.LayerNorm(d), nn.ReLU(), nn.Linear(d, 5)
        )  # fmt: skip
        return model, ["x"], "y"

    def wav2vec2():
        config = hf.Wav2Vec2Config(
            hidden_size=d, num_hidden_layers=layers, num_attention_heads=4, intermediate_size=2 * d, layerdrop=0.0,
            initializer_range=scale,
        )  # fmt: skip
        return Speech(config), ["hidden_states", "attention_mask"], "last_hidden_state"

    return dict(bert=bert, roberta=roberta, distilbert=distilbert, gpt2=gpt2, vit=vit, mlp=mlp, wav2vec2=wav2vec2)


def randomise(model):
    """Biases and the like, which begin as zeros and ones, so that all of them show in the output."""
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() < 2:
                p += 0.1 * torch.randn_like(p)
            elif not p.any():
                p += 0.2 * torch.randn_like(p)


def attend_by(model, way):
    for part in model.modules():
        if hasattr(part, "config"):
            part.config._attn_implementation = way


def values(name, batch, length, hidden, vocab):
    if name == "input_ids":
        return torch.randint(2, vocab, (batch, length))
    if name == "token_type_ids":
        return torch.randint(0, 2, (batch, length))
    if name == "attention_mask":  # each example is shorter than the one before
        return (torch.arange(length)[None, :] < length - 2 * torch.arange(batch)[:, None]).long()
    if name == "pixel_values":
        return torch.randn(batch, CHANNELS, IMAGE, IMAGE)
    if name == "hidden_states":
        return torch.randn(batch, length, hidden)
    return torch.randn(batch, FEATURES)


def axes(name):
    return {0: "batch"} if name in ("pixel_values", "x") else {0: "batch", 1: "sequence"}


def export(model, example, names, output, exporter, path):
    opset = EXPORTERS[exporter]
    attend_by(model, ATTENTION[exporter])
    common = dict(input_names=names, output_names=[output], opset_version=opset)
    if exporter.startswith("dynamo"):
        shapes = [{i: torch.export.Dim(axis, min=2, max=20) for i, axis in axes(n).items()} for n in names]
        dynamic = (tuple(shapes),) if isinstance(model, Logits) else tuple(shapes)
        torch.onnx.export(
            model, tuple(example), str(path), dynamo=True, dynamic_shapes=dynamic, external_data=False, **common
        )
    else:
        dynamic = {n: axes(n) for n in names}
        torch.onnx.export(model, tuple(example), str(path), dynamo=False, dynamic_axes=dynamic, **common)
    made = onnx.load(path)
    # What exporters say of themselves is longer than the models.
    for holder in (made, made.graph, *made.graph.node, *made.graph.value_info, *made.graph.initializer):
        for field in ("metadata_props", "doc_string"):
            holder.ClearField(field)
    for port in (*made.graph.input, *made.graph.output):
        port.ClearField("doc_string")
        port.ClearField("metadata_props")
    onnx.save(made, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent / "models")
    parser.add_argument("--large", action="store_true", help="256 wide, 4 layers: for a check by hand")
    args = parser.parse_args()
    hidden, layers, vocab = (256, 4, 1000) if args.large else (16, 2, 40)
    args.folder.mkdir(parents=True, exist_ok=True)
    for name, make in models(hidden, layers, vocab).items():
        torch.manual_seed(23)
        model, names, output = make()
        randomise(model)
        model.eval()
        for p in model.parameters():
            p.requires_grad_(False)
        attend_by(model, "sdpa")
        cases = {}
        for batch, length in SIZES:
            inputs = [values(n, batch, length, hidden, vocab) for n in names]
            for n, v in zip(names, inputs):
                cases[f"b{batch}s{length}.in.{n}"] = v.numpy()
            cases[f"b{batch}s{length}.out.{output}"] = model(*inputs).numpy()
        example = [values(n, 2, 9, hidden, vocab) for n in names]
        torches = dict(cases)
        for exporter in EXPORTERS:
            path = args.folder / f"{name}-{exporter}.onnx"
            export(model, example, names, output, exporter, path)
            session = onnxruntime.InferenceSession(str(path))
            worst = 0.0
            for batch, length in SIZES:
                feed = {i.name: cases[f"b{batch}s{length}.in.{i.name}"] for i in session.get_inputs()}
                out = f"b{batch}s{length}.out.{output}"
                (cases[out],) = session.run([output], feed)
                worst = max(worst, float(numpy.abs(cases[out] - torches[out]).max()))
            print(f"{name} {exporter}: {len(onnx.load(path).graph.node)} nodes, {path.stat().st_size} B, "
                  f"ONNX Runtime differs from PyTorch by {worst:.1e}")  # fmt: skip
            assert worst < 1e-5
        save_file(cases, args.folder / f"{name}.safetensors")


if __name__ == "__main__":
    main()
