# SPDX-License-Identifier: Apache-2.0
"""What PyTorch saves is read byte for byte as PyTorch reads it, by every program that takes a checkpoint."""

import importlib.util
import os
import random
import re
import subprocess
import unittest

from _programs import BIN, SOURCE, Case, report, run

HAVE = all(importlib.util.find_spec(name) for name in ("torch", "safetensors"))
if HAVE:
    import torch
    from safetensors.torch import load_file

OLD = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64".split()
NEW = OLD + "float8_e4m3fn float8_e5m2 uint16 uint32 uint64".split()


def bits(tensor):
    """Bytes in row-major order."""
    flat = tensor.detach().contiguous().clone().reshape(-1)
    return bytes(flat.untyped_storage() if hasattr(flat, "untyped_storage") else flat.storage().untyped())


def view(dice, tensor):
    """The tensor, or one of the views of it that models save."""
    n = tensor.dim()
    kind = dice.randrange(6)
    if kind == 0 and n >= 2:
        return tensor.transpose(0, n - 1)
    if kind == 1 and n >= 1:
        return tensor[tensor.shape[0] // 3 :]
    if kind == 2 and n >= 2:
        return tensor[..., : max(1, tensor.shape[-1] // 2)]
    if kind == 3 and n >= 1:
        return tensor[::2]
    if kind == 4 and n >= 3:
        return tensor.permute(*dice.sample(range(n), n))
    return tensor


def state_dict(seed, dtypes):
    dice = random.Random(seed)
    torch.manual_seed(seed)
    out = {}
    for i in range(dice.randrange(1, 12)):
        dtype = getattr(torch, dice.choice(dtypes), torch.float32)
        shape = [dice.choice([1, 2, 3, 5, 17, 40]) for _ in range(dice.randrange(5))]
        values = torch.randint(0, 2 if dtype == torch.bool else 100, shape).to(dtype)
        tensor = view(dice, values)
        if dice.random() < 0.2 and dtype.is_floating_point:
            tensor = torch.nn.Parameter(tensor, requires_grad=dice.random() < 0.5)
        out[f"layer.{i}.weight"] = tensor
        if dice.random() < 0.3:
            out[f"layer.{i}.tied"] = tensor if dice.random() < 0.5 else view(dice, values)
    return out


@unittest.skipUnless(HAVE, "PyTorch is not installed")
class TorchFiles(Case):
    def check(self, path, state):
        out = self.path("out")
        run("convert", path, "-o", out, "--to", "dense", "-f", "-q")
        got = load_file(out)
        self.assertEqual(list(sorted(got)), list(sorted(state)))
        for name, tensor in state.items():
            self.assertEqual(got[name].shape, tensor.shape, name)
            self.assertEqual(got[name].dtype, tensor.dtype, name)
            self.assertEqual(bits(got[name]), bits(tensor), name)

    def test_every_form_is_read_byte_for_byte(self):
        forms = [
            (NEW, {}),
            (NEW, {"pickle_protocol": 4}),
            (OLD, {"_use_new_zipfile_serialization": False}),
        ]
        for seed in range(36):
            dtypes, form = forms[seed % 3]
            path = self.folder / "model.pt"
            torch.save(state_dict(seed, dtypes), path, **form)
            self.check(path, torch.load(path, weights_only=False))

    def test_a_tensor_repeated_by_its_strides_is_refused(self):
        path = self.folder / "model.pt"
        torch.save({"w": torch.ones(1).expand(10_000)}, path)
        run("energy", path, expect=1)

    def test_a_model_is_pruned_as_its_safetensors_are(self):
        from safetensors.torch import save_file

        torch.manual_seed(1)
        state = {f"layer.{i}.weight": torch.randn(40, 30) for i in range(3)}
        torch.save(state, self.folder / "model.bin")
        save_file(state, self.path("model"), metadata={"format": "pt"})
        for source, out in ((self.folder / "model.bin", "a"), (self.path("model"), "b")):
            run("prune", source, "-o", self.path(out), "--sparsity", "0.9", "-q")
        a, b = load_file(self.path("a")), load_file(self.path("b"))
        for name in state:
            self.assertTrue(torch.equal(a[name], b[name]))
        one, two = (report("energy", self.path(n), "--against", self.folder / "model.bin") for n in "ab")
        self.assertEqual(one["total"], two["total"])


@unittest.skipUnless(HAVE and importlib.util.find_spec("transformers"), "transformers is not installed")
class Transformers(Case):
    """What transformers saved before it had safetensors. Version 5 cannot any more; the library that did it for
    version 4 still can."""

    def save(self, model, folder, size):
        import transformers

        if int(transformers.__version__.split(".")[0]) < 5:
            model.save_pretrained(folder, safe_serialization=False, max_shard_size=size)
            return
        from huggingface_hub import save_torch_state_dict

        model.config.save_pretrained(folder)
        save_torch_state_dict(model.state_dict(), folder, max_shard_size=size, safe_serialization=False)

    def gpt2(self):
        import transformers

        torch.manual_seed(1)
        config = transformers.GPT2Config(
            vocab_size=60, n_embd=40, n_layer=2, n_head=4, n_positions=16, bos_token_id=0, eos_token_id=0
        )
        return transformers.GPT2LMHeadModel(config)

    def test_shards_in_any_dtype_with_tied_weights(self):
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            for size, parts in (("1GB", 1), ("50KB", 3 if dtype == torch.float32 else 2)):
                model, out = self.folder / f"{dtype}-{size}", self.folder / f"{dtype}-{size}.out"
                self.save(self.gpt2().to(dtype), model, size)
                files = sorted(model.glob("pytorch_model*.bin"))
                self.assertGreaterEqual(len(files), parts)
                self.assertEqual((model / "pytorch_model.bin.index.json").exists(), parts > 1)
                wanted = {}
                for file in files:
                    wanted.update(torch.load(file, weights_only=True))
                run("convert", model, "-o", out, "--to", "dense", "-q")
                got = {}
                for file in sorted(out.glob("*.safetensors")):
                    got.update(load_file(file))
                self.assertEqual(sorted(got), sorted(wanted))
                for name, tensor in wanted.items():
                    self.assertEqual(got[name].shape, tensor.shape, name)
                    self.assertEqual(got[name].dtype, dtype, name)
                    self.assertEqual(bits(got[name]), bits(tensor), name)

    def test_gpt2_as_the_documents_show_it(self):
        import transformers

        self.save(self.gpt2(), self.folder, "1GB")
        page = (SOURCE / "docs/models.md").read_text()
        lines = next(b for b in re.findall(r"^```\n(.*?)^```", page, re.M | re.S) if "pytorch_model.bin" in b)
        self.assertEqual(lines.count("\n"), 3)
        path = f"{BIN}:{os.environ['PATH']}"
        subprocess.run(["sh", "-e", "-c", lines], cwd=self.folder, env={**os.environ, "PATH": path},
                       check=True, capture_output=True)  # fmt: skip
        dense = load_file(self.path("dense"))
        for name, tensor in load_file(self.path("pruned")).items():
            self.assertEqual(bits(dense[name]), bits(tensor), name)
        kept = dense["transformer.h.0.attn.c_attn.weight"] != 0
        self.assertEqual(int(kept.sum()), 40 * 120 // 10)
        self.assertTrue((kept.reshape(40, 12, 10).sum(2) == 1).all())  # of ten along an output's row
        self.path("dense").rename(self.folder / "model.safetensors")
        (self.folder / "pytorch_model.bin").unlink()
        again = transformers.GPT2LMHeadModel.from_pretrained(self.folder)
        self.assertTrue(torch.equal(again.transformer.h[0].attn.c_attn.weight != 0, kept))


if __name__ == "__main__":
    unittest.main()
