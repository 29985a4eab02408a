# SPDX-License-Identifier: Apache-2.0
"""Texts of all kinds, the same for a seed: what tokenizers have to agree on."""

import random

WORDS = (
    "the The THE don't we're I'll it's o'clock naïve Café RÉSUMÉ Ångström İstanbul ΣΊΣΥΦΟΣ straße ﬁne "
    "東京 北京大学 한국어 조선 हिन्दी עִבְרִית العَرَبِيَّة ไทย Việt ½ ² ٣٤ 3.14 1,000 2024-01-01 e\u0301 o\u0308\u0323 [MASK] [SEP] "
    "[UNK] [mask] <|endoftext|> <|end ##ing # @user #tag 👍 👩‍👩‍👧 🇫🇷 e\u0323\u0301 C++ a_b foo-bar 'tis ''s ... ?! — “q” "
    "to be or not be that is question antidisestablishmentarianism"
).split(" ")
SPACES = ["\t", "\n", "\r\n", "  ", "   ", "\u00a0", "\u2009", "\u3000", "\u200b", "\u0085", "\u2028", "\v", " \n ", "\n\n", "\ufeff"]
CONTROLS = ["\x00", "\x01", "\x1b", "\x7f", "\u0080", "\u00ad", "\u200d", "\u200e", "\ufffd", "\ufff9", "\ue000", "\U0010ffff", "\u0378"]


def code_point(r):
    while True:
        # Whole blocks of 128 are as likely as each other; every other one is of the lower planes.
        c = r.choice([r.randrange(0x3000), r.randrange(0x20000), r.randrange(0x110000)])
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def run_of_block(r, n):
    """Neighbours: of one script, with the marks that it has."""
    start = r.randrange(0x1F000 // 32) * 32
    chars = [chr(start + r.randrange(32)) for _ in range(n)]
    return "".join(c for c in chars if not 0xD800 <= ord(c) < 0xE000)


def text(r):
    parts = []
    for _ in range(r.randrange(1, 14)):
        kind = r.randrange(12)
        if kind < 5:
            parts.append(r.choice(WORDS))
        elif kind == 5:
            parts.append(r.choice(SPACES))
        elif kind == 6:
            parts.append(r.choice(CONTROLS))
        elif kind == 7:
            parts.append("".join(code_point(r) for _ in range(r.randrange(1, 6))))
        elif kind == 8:
            parts.append(run_of_block(r, r.randrange(1, 8)))
        elif kind == 9:
            parts.append(r.choice("abcdefghijklmnop") * r.choice([1, 3, 99, 100, 101, 300]))
        elif kind == 10:
            parts.append(r.choice("aeioucnAEIO") + "".join(chr(r.randrange(0x300, 0x36F)) for _ in range(3)))
        else:
            parts.append("".join(chr(r.randrange(32, 127)) for _ in range(r.randrange(1, 10))))
        if r.random() < 0.7:
            parts.append(" ")
    return "".join(parts)


def texts(count, seed=1):
    """Every code point is in one of them, if there are enough: the first ones have 256 each."""
    r = random.Random(seed)
    every = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    blocks = ["a".join(every[i : i + 256]) for i in range(0, 0x32000, 256)]
    return blocks[: count // 2] + [text(r) for _ in range(count - len(blocks[: count // 2]))]
