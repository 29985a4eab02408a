#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes random_crops.json beside this script: crops that torchvision's RandomResizedCrop draws from sten's random
numbers, and pixels of crops that Pillow resizes. Requires torch, torchvision, numpy and Pillow 13 or later."""
import json
import pathlib
from unittest import mock

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import RandomResizedCrop

MASK = (1 << 64) - 1


def mix_bits(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def random_bits(seed, i):
    return mix_bits(mix_bits(seed) ^ mix_bits(~i & MASK))


def seed_for(seed, name):
    h = 0xCBF29CE484222325
    for c in name.encode():
        h = (h ^ c) * 0x100000001B3 & MASK
    return mix_bits(seed ^ mix_bits(h))


class Draws:
    """Replaces torch's random numbers by random_uniform() of random_crop()."""

    def __init__(self, seed, number):
        self.seed, self.k = random_bits(seed_for(seed, "crop"), number), 0

    def next(self):
        self.k += 1
        return (random_bits(self.seed, self.k - 1) >> 11) * 2.0**-53

    def empty(self, *_):
        return self

    def uniform_(self, low, high):
        return torch.tensor(float(low) + (float(high) - float(low)) * self.next())

    def randint(self, low, high, size):
        return torch.tensor(low + int(self.next() * (high - low)))


def crop(height, width, scale, ratio, seed, number):
    draws = Draws(seed, number)
    with mock.patch.object(torch, "empty", draws.empty), mock.patch.object(torch, "randint", draws.randint):
        found = RandomResizedCrop.get_params(Image.new("L", (width, height)), scale, ratio)
    return [int(v) for v in found]


def made_image(height, width):
    """The image of the same name in resize_test.cpp."""
    y, x, c = np.ogrid[:height, :width, :3]
    return Image.fromarray(((37 * y + 91 * x + 53 * c + 11 * x * y) % 256).astype(np.uint8))


def main():
    torch.set_default_dtype(torch.float64)
    usual = [0.08, 1], [3 / 4, 4 / 3]
    crops = []
    for height, width, (scale, ratio), count in [
        (256, 256, usual, 8),
        (375, 500, usual, 8),
        (333, 90, usual, 6),
        (500, 333, ([0.35, 1], [1, 1]), 4),
        (40, 300, ([0.9, 1], [3 / 4, 4 / 3]), 2),  # central crops
        (300, 40, ([0.9, 1], [3 / 4, 4 / 3]), 2),
        (30, 40, ([1, 1], [1.3, 1.4]), 2),  # of the whole image, mostly
        (1, 7, usual, 2),
    ]:
        for number in range(count):
            crops.append({"height": height, "width": width, "scale": scale, "ratio": ratio, "seed": 5 + height,
                          "number": number, "crop": crop(height, width, scale, ratio, 5 + height, number)})
    resized = []
    for height, width, (top, left, h, w), size in [
        (31, 47, (3, 5, 20, 30), 7),  # both axes shrink
        (31, 47, (3, 5, 25, 9), 7),  # the height much more
        (31, 47, (3, 5, 9, 25), 7),  # the width more
        (31, 47, (3, 5, 5, 6), 8),  # both grow
        (31, 47, (0, 0, 20, 5), 8),  # the height shrinks, the width grows
        (31, 47, (11, 42, 4, 5), 8),
        (31, 47, (2, 20, 3, 16), 8),
        (31, 47, (4, 4, 8, 20), 8),  # the height stays
        (31, 47, (4, 4, 20, 8), 8),
        (31, 47, (4, 4, 8, 8), 8),
        (300, 20, (10, 2, 280, 16), 8),
    ]:
        part = made_image(height, width).crop((left, top, left + w, top + h))
        pixels = np.asarray(part.resize((size, size), Image.BILINEAR))
        resized.append({"height": height, "width": width, "crop": [top, left, h, w], "size": size,
                        "pixels": pixels.ravel().tolist()})
    lines = ",\n".join(json.dumps(c) for c in crops), ",\n".join(json.dumps(r) for r in resized)
    text = '{"crops": [\n%s\n], "resized": [\n%s\n]}\n' % lines
    pathlib.Path(__file__).with_name("random_crops.json").write_text(text)


if __name__ == "__main__":
    main()
