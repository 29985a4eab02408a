#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports small models with random weights, and what ONNX Runtime says of them, for exports_test.cpp.

  make_models.py [DIR] [--large]     DIR: models/ beside this script

It takes torch, transformers, onnx, onnxruntime, onnxscript and safetensors. For each model and exporter it writes
MODEL-EXPORTER.onnx, and for each model MODEL.safetensors:

  b2s7.in.input_ids     an input, where a batch has two examples of seven tokens
  EXPORTER.b2s7         ONNX Runtime's output
  EXPORTER.pruned       its output for the first batch from the file that `sten-prune --sparsity 0.5` writes
                        (sten-prune is in STEN_BIN, default build/bin)
  EXPORTER.grad.TENSOR  of the gradient that PyTorch has of the loss of the first batch, for tensors of the file that are
                        parameters: its norm, and its product with cos(0), cos(1), ... in the order of the file"""

import argparse
import contextlib
import io
import logging
import os
import pathlib
import subprocess
import tempfile
import warnings

import numpy
import onnx
import onnx.reference
import onnxruntime
import torch
import transformers as hf
from safetensors.numpy import save_file
from torch import nn

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
PROGRAMS = pathlib.Path(os.environ.get("STEN_BIN", pathlib.Path(__file__).parents[2] / "build/bin"))
EXPORTERS = {"opset14": 14, "opset17": 17, "dynamo18": 18, "dynamo23": 23}
ATTENTION = {"opset14": "eager", "opset17": "sdpa", "dynamo18": "sdpa", "dynamo23": "sdpa"}  # of transformers
SIZES = [(2, 7), (3, 12)]
PATCH, IMAGE, CHANNELS, FEATURES, FRAMES = 4, 16, 3, 20, 32
# What transformers 5.24 and torch 2.15 cannot export.
OMITTED = {("whisper_decoder", "opset17"), ("swin", "dynamo18")}
# Exporters of some models only. Opset 23 has operators for attention, rotary embedding and RMS norm.
MODELS = {"opset14": {"mlp", "bert", "gpt2"}, "dynamo23": {"bert", "gpt2", "llama", "t5"}}


class Logits(nn.Module):
    """A model of transformers with the inputs by position and one output."""

    def __init__(self, model, names, output="logits", **others):
        super().__init__()
        self.model, self.names, self.output, self.others = model, names, output, others

    def forward(self, *inputs):
        return self.model(**dict(zip(self.names, inputs)), **self.others)[self.output]


class WhisperDecoder(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.decoder, self.proj_out = model.model.decoder, model.proj_out

    def forward(self, ids, states):
        states = self.decoder(input_ids=ids, encoder_hidden_states=states, use_cache=False).last_hidden_state
        return self.proj_out(states)


def models(d, layers, vocab):
    """For each name a function that makes (model, inputs, output)."""
    std = {"initializer_range": 0.8 / d**0.5}
    sizes = dict(hidden_size=d, num_hidden_layers=layers, num_attention_heads=4, intermediate_size=2 * d)
    text = dict(vocab_size=vocab, max_position_embeddings=32, **sizes, **std)
    image = dict(image_size=IMAGE, patch_size=PATCH, num_channels=CHANNELS, **sizes, **std)
    special = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2)
    seq2seq = dict(
        vocab_size=vocab, d_model=d, encoder_layers=layers, decoder_layers=layers, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=2 * d, decoder_ffn_dim=2 * d, init_std=std["initializer_range"],
    )  # fmt: skip
    whisper = dict(
        num_mel_bins=CHANNELS, max_source_positions=FRAMES // 2, max_target_positions=32, decoder_start_token_id=1,
        **special, **seq2seq,
    )  # fmt: skip

    ids, pixels, pairs = ["input_ids", "attention_mask"], ["pixel_values"], ["input_ids", "pixel_values"]
    tokens, target = ids + ["token_type_ids"], ids + ["decoder_input_ids"]

    def entry(names, model, config, output="logits", **others):
        return lambda: (Logits(getattr(hf, model)(config()), names, output, **others), names, output)

    def decoder(model, config, names=ids):
        return entry(names, model, config, use_cache=False)

    def mlp():
        model = nn.Sequential(
            nn.Linear(FEATURES, d), nn.GELU("tanh"), nn.Linear(d, d), nn.LayerNorm(d), nn.ReLU(), nn.Linear(d, 5)
        )  # fmt: skip
        return model, ["x"], "y"

    def whisper_encoder():
        encoder = hf.WhisperModel(hf.WhisperConfig(**whisper)).encoder
        return Logits(encoder, ["input_features"], "last_hidden_state"), ["input_features"], "last_hidden_state"

    def whisper_decoder():
        model = WhisperDecoder(hf.WhisperForConditionalGeneration(hf.WhisperConfig(**whisper)))
        return model, ["decoder_input_ids", "encoder_hidden_states"], "logits"

    return dict(
        mlp=mlp,
        bert=entry(tokens, "BertForMaskedLM", lambda: hf.BertConfig(**text)),
        roberta=entry(ids, "RobertaForMaskedLM", lambda: hf.RobertaConfig(**text, pad_token_id=1)),
        distilbert=entry(ids, "DistilBertForMaskedLM", lambda: hf.DistilBertConfig(
            vocab_size=vocab, dim=d, n_layers=layers, n_heads=4, hidden_dim=2 * d, max_position_embeddings=32, **std)),
        albert=entry(ids, "AlbertForMaskedLM", lambda: hf.AlbertConfig(embedding_size=8, **text)),
        electra=entry(ids, "ElectraForMaskedLM", lambda: hf.ElectraConfig(embedding_size=8, **text)),
        deberta_v2=entry(ids, "DebertaV2ForMaskedLM", lambda: hf.DebertaV2Config(
            relative_attention=True, position_buckets=8, pos_att_type=["p2c", "c2p"], share_att_key=True,
            norm_rel_ebd="layer_norm", position_biased_input=False, **text)),
        mpnet=entry(ids, "MPNetForMaskedLM", lambda: hf.MPNetConfig(pad_token_id=1, **text)),
        modernbert=entry(ids, "ModernBertForMaskedLM", lambda: hf.ModernBertConfig(
            local_attention=4, global_attn_every_n_layers=2, cls_token_id=1, sep_token_id=2, **special, **text)),
        gpt2=decoder("GPT2LMHeadModel", lambda: hf.GPT2Config(
            vocab_size=vocab, n_embd=d, n_layer=layers, n_head=4, n_inner=2 * d, n_positions=32, bos_token_id=0,
            eos_token_id=0, **std)),
        gpt_neo=decoder("GPTNeoForCausalLM", lambda: hf.GPTNeoConfig(
            vocab_size=vocab, hidden_size=d, num_layers=layers, num_heads=4, intermediate_size=2 * d, window_size=4,
            max_position_embeddings=32, attention_types=[[["global", "local"], layers // 2]], bos_token_id=0,
            eos_token_id=0, **std)),
        opt=decoder("OPTForCausalLM", lambda: hf.OPTConfig(
            vocab_size=vocab, hidden_size=d, num_hidden_layers=layers, num_attention_heads=4, ffn_dim=2 * d,
            max_position_embeddings=32, word_embed_proj_dim=d, init_std=std["initializer_range"])),
        bloom=decoder("BloomForCausalLM", lambda: hf.BloomConfig(
            vocab_size=vocab, hidden_size=d, n_layer=layers, n_head=4, **std)),
        llama=decoder("LlamaForCausalLM", lambda: hf.LlamaConfig(num_key_value_heads=2, **text)),
        t5=decoder("T5ForConditionalGeneration", lambda: hf.T5Config(
            vocab_size=vocab, d_model=d, d_kv=4, d_ff=2 * d, num_layers=layers, num_heads=4, decoder_start_token_id=0,
            relative_attention_num_buckets=8, relative_attention_max_distance=16), target),
        bart=decoder("BartForConditionalGeneration", lambda: hf.BartConfig(
            max_position_embeddings=32, **seq2seq), target),
        whisper_encoder=whisper_encoder,
        whisper_decoder=whisper_decoder,
        vit=entry(pixels, "ViTForImageClassification", lambda: hf.ViTConfig(num_labels=5, **image)),
        deit=entry(pixels, "DeiTForImageClassification", lambda: hf.DeiTConfig(num_labels=5, **image)),
        swin=entry(pixels, "SwinForImageClassification", lambda: hf.SwinConfig(
            image_size=IMAGE, patch_size=2, num_channels=CHANNELS, embed_dim=8, depths=[2, 2], num_heads=[2, 4],
            window_size=2, num_labels=5, **std)),
        dinov2=entry(pixels, "Dinov2ForImageClassification", lambda: hf.Dinov2Config(
            hidden_size=d, num_hidden_layers=layers, num_attention_heads=4, mlp_ratio=2, image_size=IMAGE,
            patch_size=PATCH, num_channels=CHANNELS, num_labels=5, **std)),
        clip=entry(pairs + ["attention_mask"], "CLIPModel", lambda: hf.CLIPConfig(
            text_config={**text, **special, "eos_token_id": vocab - 1}, vision_config=image, projection_dim=8),
            "logits_per_image"),
        siglip=entry(pairs, "SiglipModel", lambda: hf.SiglipConfig(
            text_config={**text, **special}, vision_config=image), "logits_per_image"),
        wav2vec2=entry(["input_values"], "Wav2Vec2ForCTC", lambda: hf.Wav2Vec2Config(
            vocab_size=vocab, conv_dim=(8, 8), conv_kernel=(4, 3), conv_stride=(2, 2), num_feat_extract_layers=2,
            num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2, layerdrop=0, apply_spec_augment=False,
            **sizes, **std)),
    )  # fmt: skip


def randomise(model):
    """Also biases and the like, which begin as zeros and ones, so that all of them show in the output."""
    with torch.no_grad():
        for p in model.parameters():
            p += 0.1 * torch.randn_like(p)


def attend_by(model, way):
    for part in model.modules():
        if hasattr(part, "config"):
            part.config._attn_implementation = way


def values(name, batch, length, hidden, vocab):
    if name in ("input_ids", "decoder_input_ids"):
        return torch.randint(3, vocab - 1, (batch, length))
    if name == "token_type_ids":
        return torch.randint(0, 2, (batch, length))
    if name == "attention_mask":  # each example is shorter than the one before
        return (torch.arange(length)[None, :] < length - 2 * torch.arange(batch)[:, None]).long()
    shapes = {
        "pixel_values": (CHANNELS, IMAGE, IMAGE), "input_features": (CHANNELS, FRAMES), "x": (FEATURES,),
        "encoder_hidden_states": (length, hidden), "input_values": (40 + 4 * length,),
    }  # fmt: skip
    return torch.randn(batch, *shapes[name])


def axes(name):
    if name in ("pixel_values", "input_features", "x"):
        return {0: "batch"}
    return {0: "batch", 1: {"decoder_input_ids": "target", "input_values": "samples"}.get(name, "sequence")}


def export(model, example, names, output, exporter, path):
    opset = EXPORTERS[exporter]
    attend_by(model, ATTENTION[exporter])
    common = dict(input_names=names, output_names=[output], opset_version=opset)
    if exporter.startswith("dynamo"):
        shapes = [dict.fromkeys(axes(n), torch.export.Dim.DYNAMIC) for n in names]
        dynamic = (tuple(shapes),) if isinstance(model, Logits) else tuple(shapes)
        with contextlib.redirect_stdout(io.StringIO()):
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


def answers(path, cases, output):
    """By size, of ONNX Runtime; of onnx's reference where ONNX Runtime does not broadcast cosines over the batch."""
    model = onnx.load(path)
    if any(n.op_type == "RotaryEmbedding" for n in model.graph.node):
        session = onnx.reference.ReferenceEvaluator(model)
    else:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return {
        size: session.run([output], {i.name: cases[f"{size}.in.{i.name}"] for i in model.graph.input})[0]
        for size in (f"b{batch}s{length}" for batch, length in SIZES)
    }


def gradients(model, inputs, path):
    """Of the mean cross-entropy with the labels 0, 1, ..., by tensor of the file: norm and product."""
    parameters = list(model.parameters())
    for p in parameters:
        p.requires_grad_(True)
    y = model(*inputs)
    labels = torch.arange(y[..., 0].numel()) % y.shape[-1]
    slopes = torch.autograd.grad(
        nn.functional.cross_entropy(y.reshape(-1, y.shape[-1]), labels), parameters, allow_unused=True
    )
    for p in parameters:
        p.requires_grad_(False)
    tensors = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in onnx.load(path).graph.initializer}
    found = {}
    for p, slope in zip(parameters, slopes):
        same = [n for n, t in tensors.items() if torch.equal(t, p)]
        transposed = [n for n, t in tensors.items() if p.dim() == 2 and torch.equal(t, p.t())]
        if slope is None or len(same) + len(transposed) != 1:  # a parameter in two tensors has two gradients
            continue
        slope = (slope if same else slope.t()).double().reshape(-1)
        product = slope @ torch.cos(torch.arange(slope.numel(), dtype=torch.double))
        found[(same + transposed)[0]] = numpy.array([slope.norm(), product], dtype=numpy.float32)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent / "models")
    parser.add_argument("--large", action="store_true", help="256 wide, 4 layers: for a check by hand")
    parser.add_argument("--models", nargs="*")
    args = parser.parse_args()
    hidden, layers, vocab = (256, 4, 1000) if args.large else (16, 2, 40)
    args.folder.mkdir(parents=True, exist_ok=True)
    for name, make in models(hidden, layers, vocab).items():
        if args.models and name not in args.models:
            continue
        torch.manual_seed(23)
        model, names, output = make()
        randomise(model)
        model.eval()
        for p in model.parameters():
            p.requires_grad_(False)
        attend_by(model, "sdpa")
        cases, wanted = {}, {}
        for batch, length in SIZES:
            inputs = [values(n, batch, length, hidden, vocab) for n in names]
            for n, v in zip(names, inputs):
                cases[f"b{batch}s{length}.in.{n}"] = v.numpy()
            wanted[f"b{batch}s{length}"] = model(*inputs).numpy()
        example = [values(n, 2, 9, hidden, vocab) for n in names]
        for exporter in EXPORTERS:
            if (name, exporter) in OMITTED or name not in MODELS.get(exporter, {name}):
                continue
            path = args.folder / f"{name}-{exporter}.onnx"
            export(model, example, names, output, exporter, path)
            runs = answers(path, cases, output)
            cases |= {f"{exporter}.{size}": y for size, y in runs.items()}
            first = f"b{SIZES[0][0]}s{SIZES[0][1]}"
            inputs = [torch.from_numpy(cases[f"{first}.in.{n}"]) for n in names]
            cases |= {f"{exporter}.grad.{n}": g for n, g in gradients(model, inputs, path).items()}
            worst = max(float(numpy.abs(y - wanted[size]).max()) for size, y in runs.items())
            with tempfile.TemporaryDirectory() as scratch:
                pruned = pathlib.Path(scratch) / "pruned.onnx"
                subprocess.run([PROGRAMS / "sten-prune", path, "-o", pruned, "--sparsity", "0.5", "-q"], check=True)
                cases[f"{exporter}.pruned"] = answers(pruned, cases, output)[first]
            print(f"{name} {exporter}: {len(onnx.load(path).graph.node)} nodes, {path.stat().st_size} B, "
                  f"ONNX Runtime differs from PyTorch by {worst:.1e}", flush=True)  # fmt: skip
            # ModernBERT's windows leave tokens of padding without anything to attend to.
            assert worst < 1e-5 or name == "modernbert"
        save_file(cases, args.folder / f"{name}.safetensors")


if __name__ == "__main__":
    main()
