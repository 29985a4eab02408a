#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peak memory of a calibration beside its bound, on a random Llama in bfloat16.

    scripts/bench/calibration_memory.py [--dir DIR] [--shape 8b|1b|small] [--methods wanda,sparsegpt]
        [--samples 4] [--window 128] [--threads 2] [-- OPTION...]

Makes the model in DIR (16 GB for 8b; needs numpy) unless it is there, and calibrates it with --dry-run: pruned layers go
to a nameless file in TMPDIR. OPTION is another option of sten-prune, such as --allocate=error. The bound is 3 blocks in
float32, two matrices of the widest layer's inputs, the activations of all samples at the width of the model in float32,
and 300 MB. sten-prune is taken from build/bin, or STEN_BIN.
"""
import argparse, json, os, string, struct, subprocess, sys, time

# width, hidden, layers, heads, key-value heads, vocabulary
SHAPES = {"8b": (4096, 14336, 32, 32, 8, 128256), "1b": (2048, 8192, 16, 32, 8, 128256), "small": (256, 1024, 4, 8, 4, 512)}


def block(width, hidden, key_value):
    return {"self_attn.q_proj": (width, width), "self_attn.k_proj": (key_value, width), "self_attn.v_proj": (key_value, width),
            "self_attn.o_proj": (width, width), "mlp.gate_proj": (hidden, width), "mlp.up_proj": (hidden, width),
            "mlp.down_proj": (width, hidden), "input_layernorm": (width,), "post_attention_layernorm": (width,)}


def elements(shapes):
    total = 0
    for shape in shapes:
        n = 1
        for extent in shape: n *= extent
        total += n
    return total


def make(path, shape):
    import numpy as np
    width, hidden, layers, heads, kv_heads, vocabulary = SHAPES[shape]
    os.makedirs(path)
    tensors = {"model.embed_tokens.weight": (vocabulary, width)}
    for i in range(layers):
        for name, extents in block(width, hidden, width // heads * kv_heads).items():
            tensors[f"model.layers.{i}.{name}.weight"] = extents
    tensors["model.norm.weight"] = (width,)
    tensors["lm_head.weight"] = (vocabulary, width)
    at, header = 0, {}
    for name, extents in tensors.items():
        end = at + 2 * elements([extents])
        header[name] = {"dtype": "BF16", "shape": extents, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    rng, drawn = np.random.default_rng(0), {}
    with open(os.path.join(path, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for k, extents in enumerate(tensors.values()):
            if len(extents) == 1:
                f.write(np.full(extents, 0x3F80, np.uint16).tobytes())
                continue
            # Tensors of one shape are the same values, from another row on.
            if extents not in drawn:
                x = rng.standard_normal(extents, np.float32) * np.float32(extents[1] ** -0.5)
                drawn[extents] = (x.view(np.uint32) >> 16).astype(np.uint16)
            x, first = drawn[extents], 37 * k % extents[0]
            f.write(x[first:].tobytes())
            f.write(x[:first].tobytes())
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": width, "intermediate_size": hidden,
              "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv_heads, "vocab_size": vocabulary,
              "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "hidden_act": "silu",
              "tie_word_embeddings": False, "torch_dtype": "bfloat16"}
    letters = string.ascii_letters + string.digits + " .,;:!?'\n-"
    with open(os.path.join(path, "config.json"), "w") as f: json.dump(config, f)
    with open(os.path.join(path, "vocab.json"), "w") as f: json.dump({c: i for i, c in enumerate(letters)}, f)
    with open(os.path.join(path, "text.txt"), "w") as f:
        f.write("".join(letters[i] for i in rng.integers(0, len(letters), 100000)))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    p.add_argument("--dir", default=os.path.join(root, "build", "bench"))
    p.add_argument("--shape", default="8b", choices=SHAPES)
    p.add_argument("--methods", default="wanda,sparsegpt")
    p.add_argument("--samples", type=int, default=4)
    p.add_argument("--window", type=int, default=128)
    p.add_argument("--threads", default="2")
    p.add_argument("options", nargs="*")
    a = p.parse_args()
    prune = os.path.join(os.environ.get("STEN_BIN", os.path.join(root, "build", "bin")), "sten-prune")
    model = os.path.join(a.dir, "llama-" + a.shape)
    if not os.path.isdir(model):
        os.makedirs(a.dir, exist_ok=True)
        make(model + ".part", a.shape)
        os.rename(model + ".part", model)
    width, hidden, layers, heads, kv_heads, _ = SHAPES[a.shape]
    bound = (3 * 4 * elements(block(width, hidden, width // heads * kv_heads).values()) + 2 * 4 * max(width, hidden)**2 +
             4 * a.samples * a.window * width + 300e6)
    print(f"{model}, {os.path.getsize(os.path.join(model, 'model.safetensors')) / 1e9:.1f} GB, {a.samples} x {a.window} tokens, "
          f"{a.threads} threads; bound {bound / 1e6:.0f} MB", flush=True)
    for method in a.methods.split(","):
        start = time.monotonic()
        child = subprocess.Popen([prune, model, "--dry-run", "-q", "--sparsity", "0.5", "--method", method, "--include",
                                  "model.layers.*", "--exclude", "*norm*", "--calibrate", os.path.join(model, "text.txt"),
                                  "--calibrate-samples", str(a.samples), "--calibrate-window", str(a.window),
                                  "--threads", a.threads, *a.options],
                                 stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode: sys.exit(f"sten-prune ended with {child.returncode}")
        peak = usage.ru_maxrss * 1024
        print(f"{method:10} {time.monotonic() - start:8.1f} s, peak {peak / 1e6:.0f} MB"
              f"{'' if peak <= bound else ': ABOVE the bound'}", flush=True)


main()
