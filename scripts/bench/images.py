#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how fast sten-train prepares batches of images, beside the DataLoader of PyTorch.

  images.py make FOLDER [--count 10000] [--side 256]
      writes smooth random images as JPEG files, in ten folders as classes
  images.py measure FOLDER [--threads 1 --threads 2] [--rounds 5] [--batch 64]
      decodes the images, takes random crops, resizes them to 224 x 224, mirrors and normalizes them: sten-train
      --dry-run with as many threads as the DataLoader has workers, in turns

Each round runs both once. Printed are images per second, milliseconds of processor time per image, and the medians of
the rounds' ratios. It requires Pillow and numpy, and torch and torchvision to measure. sten-train is found in build/bin
or PATH."""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
SECONDS = 2  # as sten-train --dry-run


def make(folder, count, side):
    import numpy as np
    from PIL import Image

    draw = np.random.default_rng(0)
    for i in range(count):
        image = np.zeros((side, side, 3), np.float32)
        for points, share in ((4, 0.5), (16, 0.3), (64, 0.2)):
            coarse = Image.fromarray(draw.integers(0, 256, (points, points, 3)).astype(np.uint8))
            image += share * np.asarray(coarse.resize((side, side), Image.BICUBIC), np.float32)
        path = folder / f"{i % 10:02}" / f"{i:06}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image.clip(0, 255).astype(np.uint8)).save(path, quality=90)


def sten(folder, threads, batch):
    """Images per second, and milliseconds of processor time per image."""
    beside = ROOT / "build/bin/sten-train"
    program = os.environ.get("STEN_TRAIN") or (str(beside) if beside.exists() else shutil.which("sten-train"))
    if not program:
        sys.exit("images.py: sten-train not found in build/bin or PATH")
    recipe = {
        "schema": 1, "name": "images", "steps": 1, "batch": batch,
        "model": {"kind": "resnet", "depth": 18, "width": 1, "classes": 10},
        "data": {"kind": "images", "folder": str(folder.resolve()), "size": 224, "train": 1, "validation": 0,
                 "mean": MEAN, "std": STD, "random_resized_crop": {}, "mirror": True},
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work)
        (path / "recipe.json").write_text(json.dumps(recipe))
        subprocess.run([program, path / "recipe.json", "--dry-run", "--out", path / "out", "--report", path / "r.json",
                        "--threads", str(threads), "-q"], check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        report = json.loads((path / "r.json").read_text())
    return report["images"]["per_second"], report["images"]["cpu_ms"]


def processor_seconds(pids):
    ticks = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def pytorch(folder, workers, batch):
    import torch
    from torchvision import datasets
    from torchvision import transforms as t

    torch.set_num_threads(1)
    steps = [t.RandomResizedCrop(224), t.RandomHorizontalFlip(), t.ToTensor(), t.Normalize(MEAN, STD)]
    data = datasets.ImageFolder(folder, t.Compose(steps))
    loader = torch.utils.data.DataLoader(data, batch, shuffle=True, num_workers=workers)
    batches = iter(loader)
    for _ in range(2 * workers + 1):  # workers have started, and their first batches are used
        next(batches)
    pids = [os.getpid(), *(w.pid for w in batches._workers)]
    begin, used, images = time.perf_counter(), processor_seconds(pids), 0
    for x, _ in batches:
        images += len(x)
        seconds = time.perf_counter() - begin
        if seconds > SECONDS:
            break
    return images / seconds, 1e3 * (processor_seconds(pids) - used) / images


def measure(folder, threads, rounds, batch):
    for n in threads:
        ratios = []
        for k in range(rounds):
            ours, theirs = sten(folder, n, batch), pytorch(folder, n, batch)
            ratios.append((ours[0] / theirs[0], theirs[1] / ours[1]))
            print(f"{n} threads, round {k}: sten {ours[0]:.0f} images/s, {ours[1]:.2f} ms; "
                  f"PyTorch {theirs[0]:.0f} images/s, {theirs[1]:.2f} ms", flush=True)  # fmt: skip
        speed, time_ratio = (statistics.median(r[i] for r in ratios) for i in range(2))
        print(f"{n} threads: {speed:.2f} times the images per second, {time_ratio:.2f} times less processor time")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("make")
    made.add_argument("folder", type=pathlib.Path)
    made.add_argument("--count", type=int, default=10000)
    made.add_argument("--side", type=int, default=256)
    measured = commands.add_parser("measure")
    measured.add_argument("folder", type=pathlib.Path)
    measured.add_argument("--threads", type=int, action="append")
    measured.add_argument("--rounds", type=int, default=5)
    measured.add_argument("--batch", type=int, default=64)
    o = parser.parse_args()
    if o.command == "make":
        make(o.folder, o.count, o.side)
    else:
        measure(o.folder, o.threads or [1, 2], o.rounds, o.batch)


if __name__ == "__main__":
    main()
