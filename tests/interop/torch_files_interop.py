"""What PyTorch saves is read byte for byte as PyTorch reads it, by every program that takes a checkpoint."""

import importlib.util
import random
import unittest

from _programs import Case, report, run

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


if __name__ == "__main__":
    unittest.main()
