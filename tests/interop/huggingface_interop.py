# SPDX-License-Identifier: Apache-2.0
"""From a HuggingFace cache to a pruned model in PyTorch, as README.md shows it: with the real libraries, a tiny BERT
that make_tiny_bert.py wrote, and where they are installed, diffusers and PEFT."""

import contextlib
import importlib
import io
import os
import re
import shutil
import sys
import unittest
import warnings

import numpy as np
from _programs import SOURCE, Case, report, run

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
try:
    import torch
    import transformers
    from huggingface_hub import snapshot_download
except ImportError as error:
    print(f"skipped: {error}; STEN_PYTHON names a Python with torch and transformers")
    sys.exit(77)
transformers.utils.logging.disable_progress_bar()
sys.path.insert(0, str(SOURCE / "scripts"))
TINY = SOURCE / "tests/interop/tiny-bert"


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise unittest.SkipTest(str(error)) from None


README = (SOURCE / "README.md").read_text()


def example(number):
    """The README's Python, block by block."""
    return re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)[number]


def pruned(x, sparsity):
    """Without the llround(sparsity * N) smallest magnitudes, of equals the later ones."""
    flat = x.detach().numpy().ravel().copy()
    order = np.lexsort((-np.arange(flat.size), np.abs(flat)))
    flat[order[: int(sparsity * flat.size + 0.5)]] = 0
    return torch.from_numpy(flat.reshape(x.shape))


def said(model):
    with torch.no_grad():
        return model.eval()(torch.arange(48).reshape(4, 12) % 60).logits


class HuggingFace(Case):
    def setUp(self):
        super().setUp()
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)

    def cached(self):
        """The model's folder in a cache: links to files that are named by their contents."""
        cache = self.folder / "hub/models--sten--tiny-bert"
        for name in ("blobs", "refs", "snapshots/r1"):
            (cache / name).mkdir(parents=True)
        (cache / "refs/main").write_text("r1")
        for i, file in enumerate(sorted(TINY.iterdir())):
            shutil.copyfile(file, cache / f"blobs/{i}")
            (cache / "snapshots/r1" / file.name).symlink_to(f"../../blobs/{i}")
        return snapshot_download("sten/tiny-bert", cache_dir=self.folder / "hub", local_files_only=True)

    def expected(self, sparsity):
        """The original in PyTorch, with the same weights made zero there."""
        model = transformers.AutoModelForMaskedLM.from_pretrained(TINY)
        names = report("prune", TINY, "--dry-run", "--sparsity", sparsity)["tensors"]
        self.assertEqual(len(names), 13)
        weights = dict(model.named_parameters())
        with torch.no_grad():
            for name in names:
                weights[name].copy_(pruned(weights[name], sparsity))
        return model

    def same_model(self, got, expected):
        wanted = expected.state_dict()
        self.assertEqual(set(got.state_dict()), set(wanted))
        for name, x in got.state_dict().items():
            self.assertTrue(torch.equal(x, wanted[name]), name)
        self.assertTrue(torch.equal(said(got), said(expected)))

    def follow(self, number):
        """Runs a block of the README here; returns the model it made and what it printed."""
        printed, names = io.StringIO(), {}
        with contextlib.redirect_stdout(printed):
            exec(example(number), names)
        return names["model"], printed.getvalue()

    def test_dense(self):
        run("prune", self.cached(), "-o", "pruned", "--sparsity", 0.9)
        model, printed = self.follow(0)
        self.assertEqual(printed, "90.0 % of the encoder's weights are 0\n")
        self.same_model(model, self.expected(0.9))

    def test_compressed(self):
        for to in ("bitmask", "csr"):
            run("prune", self.cached() if to == "bitmask" else TINY, "-o", "pruned", "--sparsity", 0.75, "--to", to)
            with self.assertRaises(OSError):  # rather than weights made up for those it does not find
                transformers.AutoModelForMaskedLM.from_pretrained("pruned")
            self.same_model(self.follow(1)[0], self.expected(0.75))
            shutil.rmtree("pruned")

    def test_gpt2(self):
        """sten-run has the logits of a GPT-2 that transformers saved, by all of its weights."""
        torch.manual_seed(3)
        config = transformers.GPT2Config(
            vocab_size=60, n_embd=48, n_layer=2, n_head=3, n_positions=80, bos_token_id=0, eos_token_id=0
        )
        model = transformers.GPT2LMHeadModel(config).eval()
        ids = torch.arange(140).reshape(2, 70) * 7 % 60
        with torch.no_grad():
            for weight in model.parameters():
                weight += 0.1 * torch.randn_like(weight)
            wanted = model(ids).logits.numpy()
        model.save_pretrained("gpt2")
        np.save("ids.npy", ids.numpy())
        run("run", "gpt2", "--input", "ids.npy", "-o", "logits.npy")
        furthest = np.abs(np.load("logits.npy") - wanted).max()
        print(f"gpt2: the logits differ by {furthest:.2g} at most, of {np.abs(wanted).max():.2g}")
        self.assertLess(furthest, 1e-4 * max(1, np.abs(wanted).max()))

    def test_exported(self):
        os.symlink(SOURCE / "recipes", "recipes")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.follow(2)
        with open("finetune.json", "w") as recipe:
            recipe.write(re.search(r"^```json\n(.*?)^```", README, re.M | re.S).group(1))
        commands = re.search(r"^sten-prune model.onnx.*?(?=^```)", README, re.M | re.S).group().splitlines()
        self.assertEqual(len(commands), 3)
        for command in commands:
            program, *arguments = command.split()
            said = run(program.removeprefix("sten-"), *arguments).decode()
            if program == "sten-train":
                before, after = re.search(r"test: .* accuracy (\S+) % \((\S+) %\)", said).group(2, 1)
                self.assertLess(float(before), 70)
                self.assertGreater(float(after), 93)
        self.assertEqual(os.path.getsize("tuned/model.onnx"), os.path.getsize("model.onnx"))

    def test_structures(self):
        for structure, to in (("2:4", "nm"), ("1:4:4", "nmg")):
            for out, layout in (("dense", "dense"), ("pruned", to)):
                run("prune", TINY, "-o", out, "--structure", structure, "--to", layout)
            dense = transformers.AutoModelForMaskedLM.from_pretrained("dense")
            self.same_model(self.follow(1)[0], dense)
            weight = dense.bert.encoder.layer[1].output.dense.weight
            self.assertEqual(int((weight == 0).sum()), weight.numel() * (2 if to == "nm" else 3) // 4)
            shutil.rmtree("dense")
            shutil.rmtree("pruned")

    def test_a_pipeline_of_diffusers(self):
        diffusers = optional("diffusers")
        torch.manual_seed(1)
        unet = diffusers.UNet2DModel(
            sample_size=8,
            in_channels=1,
            out_channels=1,
            layers_per_block=1,
            block_out_channels=(8, 8),
            norm_num_groups=4,
            down_block_types=("DownBlock2D", "AttnDownBlock2D"),
            up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        )
        diffusers.DDPMPipeline(unet=unet, scheduler=diffusers.DDPMScheduler()).save_pretrained("pipeline")
        table = report("prune", "pipeline", "-o", "out", "--sparsity", 0.8)["tensors"]
        loaded = diffusers.DDPMPipeline.from_pretrained("out").unet.state_dict()
        self.assertGreater(len(table), 10)
        for name, x in unet.state_dict().items():
            self.assertTrue(torch.equal(loaded[name], pruned(x, 0.8) if name in table else x), name)

    def test_an_adapter_of_peft(self):
        peft = optional("peft")
        base = transformers.AutoModelForMaskedLM.from_pretrained(TINY)
        torch.manual_seed(2)
        model = peft.get_peft_model(base, peft.LoraConfig(r=4, target_modules=["query", "value"]))
        for name, x in model.named_parameters():
            if "lora_B" in name:  # which begin as zeros
                torch.nn.init.normal_(x)
        wanted = {name: x.clone() for name, x in model.state_dict().items() if "lora_" in name}
        model.save_pretrained("adapter")
        run("prune", "adapter", "-o", "out", "--sparsity", 0.5)
        again = transformers.AutoModelForMaskedLM.from_pretrained(TINY)
        loaded = peft.PeftModel.from_pretrained(again, "out").state_dict()
        self.assertEqual(len(wanted), 8)
        for name, x in wanted.items():
            self.assertTrue(torch.equal(loaded[name], pruned(x, 0.5)), name)


if __name__ == "__main__":
    unittest.main()
