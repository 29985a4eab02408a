#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the GGUF files of the tests, and what they hold as safetensors, with the package gguf:
    python3 make_files.py        (pip install gguf numpy safetensors)
types.gguf      a tensor of each type that sten reads, with random blocks
quantized.gguf  a tensor as F32, and as gguf.quants.quantize() writes it
llama.gguf      a llama of 2 layers, as convert_hf_to_gguf writes it, with a tokenizer
experts.gguf    a qwen2moe of one layer, with three experts and a shared one
The tensors of NAME.safetensors are gguf.quants.dequantize() of the blocks, and the model before the
conversion."""
import os

import gguf
import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import quants
from safetensors.numpy import save_file

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files")
random = np.random.default_rng(7)

# Where blocks have their scales, as float16.
SCALES = {T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0], T.Q2_K: [80, 82], T.Q3_K: [108],
          T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208], T.IQ4_NL: [0]}


def blocks(kind, rows, columns):
    """Random blocks with finite scales: normal and subnormal numbers of both signs, and zero."""
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    data = random.integers(0, 256, (rows * columns // elements, size), dtype=np.uint8)
    for at in SCALES[kind]:
        scale = random.normal(0, 0.1, len(data)).astype(np.float16)
        scale[0], scale[-1] = np.float16(3e-7), np.float16(-0.0)
        data[:, at:at + 2] = scale.view(np.uint8).reshape(-1, 2)
    return data.reshape(rows, -1)


def types():
    out = gguf.GGUFWriter(os.path.join(HERE, "types.gguf"), "unknown-model")
    expected = {}

    def add(name, data, kind):
        out.add_tensor(name, data, raw_dtype=kind)
        expected[name] = quants.dequantize(data, kind).astype(np.float32)

    for kind in SCALES:
        add(kind.name.lower(), blocks(kind, 2, 256), kind)
    numbers = random.normal(0, 1, (3, 5)).astype(np.float32)
    out.add_tensor("f32", numbers)
    out.add_tensor("f16", numbers.astype(np.float16))
    out.add_tensor("bf16", quants.quantize(numbers, T.BF16), raw_dtype=T.BF16)
    out.add_tensor("vector", numbers[0])
    out.add_tensor("cube", numbers[:, :4].reshape(3, 2, 2).copy())
    expected.update(f32=numbers, f16=numbers.astype(np.float16), vector=numbers[0],
                    bf16=quants.dequantize(quants.quantize(numbers, T.BF16), T.BF16),
                    cube=numbers[:, :4].reshape(3, 2, 2).copy())
    finish(out)
    save_file({k: np.ascontiguousarray(v) for k, v in expected.items()}, os.path.join(HERE, "types.safetensors"))


def quantized():
    out = gguf.GGUFWriter(os.path.join(HERE, "quantized.gguf"), "unknown-model")
    x = random.normal(0, 0.1, (8, 64)).astype(np.float32)
    x[1, :32] = 0
    x[2] *= np.float32(1e-6)
    x[3] *= np.float32(1e4)
    x[4, 5], x[5, 40] = np.float32(3), np.float32(-3)
    x[6] = np.round(x[6] * 8) / 8  # ties
    out.add_tensor("f32", x)
    for kind in (T.F16, T.BF16, T.Q8_0, T.Q4_0):
        out.add_tensor(kind.name.lower(), quants.quantize(x, kind), raw_dtype=kind)
    finish(out)


def finish(out):
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def permuted(w, heads):
    """convert_hf_to_gguf's LlamaModel.permute()."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def llama():
    hidden, inner, heads, kv, layers, vocabulary = 32, 64, 4, 2, 2, 64
    tokens = ["<s>", "</s>", "<unk>"] + [chr(33 + i) for i in range(vocabulary - 3)]
    out = gguf.GGUFWriter(os.path.join(HERE, "llama.gguf"), "llama")
    out.add_name("tiny")
    out.add_context_length(128)
    out.add_embedding_length(hidden)
    out.add_block_count(layers)
    out.add_feed_forward_length(inner)
    out.add_head_count(heads)
    out.add_head_count_kv(kv)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_freq_base(10000.0)
    out.add_rope_dimension_count(hidden // heads)
    out.add_vocab_size(vocabulary)
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("llama-bpe")
    out.add_token_list(tokens)
    out.add_token_types([3, 3, 3] + [1] * (vocabulary - 3))
    out.add_token_merges(["a b", "c d"])
    out.add_bos_token_id(0)
    out.add_eos_token_id(1)
    out.add_add_bos_token(True)
    out.add_chat_template("{% for m in messages %}{{ m.content }}{% endfor %}")
    expected = {}

    def add(name, huggingface, shape, kind, heads=0):
        w = random.normal(0, 0.1, shape).astype(np.float32)
        stored = quants.quantize(permuted(w, heads) if heads else w, kind)
        out.add_tensor(name, stored, raw_dtype=kind)
        back = quants.dequantize(stored, kind)
        if heads:  # the reverse
            back = back.reshape(heads, shape[0] // heads // 2, 2, *shape[1:]).swapaxes(1, 2).reshape(shape)
        expected[huggingface] = back.astype(np.float16) if kind == T.F16 else back

    add("token_embd.weight", "model.embed_tokens.weight", (vocabulary, hidden), T.F16)
    for i in range(layers):
        b, m = f"blk.{i}.", f"model.layers.{i}."
        kind = [T.F16, T.Q8_0][i]
        add(b + "attn_norm.weight", m + "input_layernorm.weight", (hidden,), T.F32)
        add(b + "attn_q.weight", m + "self_attn.q_proj.weight", (hidden, hidden), kind, heads)
        add(b + "attn_k.weight", m + "self_attn.k_proj.weight", (hidden // 2, hidden), kind, kv)
        add(b + "attn_v.weight", m + "self_attn.v_proj.weight", (hidden // 2, hidden), kind)
        add(b + "attn_output.weight", m + "self_attn.o_proj.weight", (hidden, hidden), kind)
        add(b + "ffn_norm.weight", m + "post_attention_layernorm.weight", (hidden,), T.F32)
        add(b + "ffn_gate.weight", m + "mlp.gate_proj.weight", (inner, hidden), T.Q4_0)
        add(b + "ffn_up.weight", m + "mlp.up_proj.weight", (inner, hidden), T.Q5_1)
        add(b + "ffn_down.weight", m + "mlp.down_proj.weight", (hidden, inner), kind)
    add("output_norm.weight", "model.norm.weight", (hidden,), T.F32)
    add("output.weight", "lm_head.weight", (vocabulary, hidden), T.Q8_0)
    finish(out)
    save_file({k: np.ascontiguousarray(v) for k, v in expected.items()}, os.path.join(HERE, "llama.safetensors"))


def experts():
    """Stacks of experts, whose matrices have names of their own in a Hugging Face checkpoint."""
    hidden, inner, shared, heads, kv, count, vocabulary = 32, 64, 32, 4, 2, 3, 40
    out = gguf.GGUFWriter(os.path.join(HERE, "experts.gguf"), "qwen2moe")
    out.add_context_length(64)
    out.add_embedding_length(hidden)
    out.add_block_count(1)
    out.add_feed_forward_length(inner)
    out.add_head_count(heads)
    out.add_head_count_kv(kv)
    out.add_layer_norm_rms_eps(1e-6)
    out.add_rope_freq_base(10000.0)
    out.add_vocab_size(vocabulary)
    out.add_expert_count(count)
    out.add_expert_used_count(2)
    out.add_expert_feed_forward_length(inner)
    out.add_expert_shared_feed_forward_length(shared)
    expected = {}

    def stored(shape, kind):
        data = quants.quantize(random.normal(0, 0.1, shape).astype(np.float32), kind)
        back = quants.dequantize(data, kind)
        return data, back.astype(np.float16) if kind == T.F16 else back

    def add(name, huggingface, shape, kind):
        data, back = stored(shape, kind)
        out.add_tensor(name, data, raw_dtype=kind)
        expected[huggingface] = back

    def add_stack(name, huggingface, shape, kind):
        data, back = stored((count, *shape), kind)
        out.add_tensor(name, data, raw_dtype=kind)
        for i in range(count):
            expected[f"model.layers.0.mlp.experts.{i}.{huggingface}.weight"] = back[i]

    m, gate = "model.layers.0.", "blk.0.ffn_gate_inp_shexp.weight"
    add("token_embd.weight", "model.embed_tokens.weight", (vocabulary, hidden), T.F16)
    for part, rows in (("q", hidden), ("k", hidden // 2), ("v", hidden // 2)):
        add(f"blk.0.attn_{part}.weight", f"{m}self_attn.{part}_proj.weight", (rows, hidden), T.Q8_0)
        add(f"blk.0.attn_{part}.bias", f"{m}self_attn.{part}_proj.bias", (rows,), T.F32)
    add("blk.0.attn_output.weight", m + "self_attn.o_proj.weight", (hidden, hidden), T.Q8_0)
    add("blk.0.attn_norm.weight", m + "input_layernorm.weight", (hidden,), T.F32)
    add("blk.0.ffn_norm.weight", m + "post_attention_layernorm.weight", (hidden,), T.F32)
    add("blk.0.ffn_gate_inp.weight", m + "mlp.gate.weight", (count, hidden), T.F32)
    add_stack("blk.0.ffn_gate_exps.weight", "gate_proj", (inner, hidden), T.Q4_0)
    add_stack("blk.0.ffn_up_exps.weight", "up_proj", (inner, hidden), T.Q5_1)
    add_stack("blk.0.ffn_down_exps.weight", "down_proj", (hidden, inner), T.F16)
    data, back = stored((hidden,), T.F32)
    out.add_tensor(gate, data, raw_dtype=T.F32)
    expected[m + "mlp.shared_expert_gate.weight"] = back.reshape(1, hidden)
    for part, shape in (("gate", (shared, hidden)), ("up", (shared, hidden)), ("down", (hidden, shared))):
        add(f"blk.0.ffn_{part}_shexp.weight", f"{m}mlp.shared_expert.{part}_proj.weight", shape, T.Q8_0)
    add("output_norm.weight", "model.norm.weight", (hidden,), T.F32)
    add("output.weight", "lm_head.weight", (vocabulary, hidden), T.Q8_0)
    finish(out)
    save_file({k: np.ascontiguousarray(v) for k, v in expected.items()}, os.path.join(HERE, "experts.safetensors"))


if __name__ == "__main__":
    os.makedirs(HERE, exist_ok=True)
    types()
    quantized()
    llama()
    experts()
