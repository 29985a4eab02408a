#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the ids and decoded texts of tokenizer.json files with Hugging Face's tokenizers, and those of
tokenizer.model files with SentencePiece.

    scripts/checks/compare_tokenizer.py BUILD COUNT FILE...   exit 1 if they differ for a text

The texts are in 30 scripts, with emoji, code, control characters and all of Unicode; for a COUNT the same.
"""

import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/interop"))
from _texts import texts

CODE = [
    "def f(x):\n    return x**2\n",
    "\tif (a<=b) { c[i]++; }\r\n",
    "#include <stdio.h>\n\n\n",
    "<s> </s> <unk> <0x0A> ▁ ▁▁a Ġ",
    "  \n \n\n  x   y  ",
]
# The word for water, or a similar one.
SCRIPTS = (
    "water вода νερό ջուր מים ماء ܡܝܐ ފެން पानी জল ਪਾਣੀ પાણી ଜଳ நீர் నీరు ನೀರು വെള്ളം ජලය น้ำ ນ້ຳ ཆུ ရေ წყალი 물 ውሃ ᎠᎹ ᐃᒥᖅ "
    "ទឹក ᠤᠰᠤ 水 みず ミズ ꦧꦚꦸ ᬬᬾᬄ ⴰⵎⴰⵏ ߖߌ ⲙⲱⲟⲩ ᱫᱟᱜ ꯏꯁꯤꯡ ᨓᨕᨙ"
).split(" ")


def in_scripts(count):
    """Words of several scripts, with blanks or without."""
    r = random.Random(3)
    return [r.choice(["", " ", " ", ", ", "\n"]).join(r.choices(SCRIPTS, k=r.randrange(1, 12))) for _ in range(count)]


def of_tokenizers(path):
    """A function from a text to what sten_tokenize prints."""
    import tokenizers

    truth = tokenizers.Tokenizer.from_file(str(path))

    def wanted(text):
        ids = truth.encode(text, add_special_tokens=False).ids
        return {"ids": ids, "sequence": truth.encode(text).ids, "text": truth.decode(ids)}

    return wanted


def of_sentencepiece(path):
    """The same, of texts without special tokens, which SentencePiece splits into characters."""
    import sentencepiece

    truth = sentencepiece.SentencePieceProcessor(model_file=str(path))

    def wanted(text):
        ids = truth.encode(text)
        return {"ids": ids, "text": truth.decode([i for i in ids if i != truth.unk_id()])}

    return wanted


def compare(build, path, all_texts):
    is_model = path.suffix == ".model"
    wanted_of = of_sentencepiece(path) if is_model else of_tokenizers(path)
    if is_model:
        all_texts = [t for t in all_texts if not re.search("<s>|</s>|<unk>|<pad>", t)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.json"
        file.write_text(json.dumps(all_texts))
        out = subprocess.run([build / "bin/sten_tokenize", path, file], check=True, capture_output=True).stdout
    lines = out.decode().split("\n")[:-1]
    wrong, refused = abs(len(lines) - len(all_texts)), 0
    for text, line in zip(all_texts, lines):
        got = json.loads(line)
        if "missing subword" in got.get("error", ""):  # tokenizers drop these bytes without a word
            refused += 1
            continue
        wanted = wanted_of(text)
        bad = [key for key in wanted if got.get(key) != wanted[key]]
        wrong += bool(bad)
        if bad and wrong < 4:
            a, b = got.get(bad[0], [got.get("error")]), wanted[bad[0]]
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            cut = slice(max(0, at - 2), at + 5)
            print(f"{bad[0]} at {at}: {a[cut]!a} is not {b[cut]!a} of {text[:80]!a}")
    agree = len(all_texts) - wrong - refused
    print(f"{path}: {agree} of {len(all_texts)} texts agree, {refused} with bytes without a subword are refused")
    return wrong


def main():
    build, count, *files = sys.argv[1:]
    scripts = int(count) // 10
    all_texts = CODE + in_scripts(scripts) + texts(int(count) - scripts - len(CODE))
    sys.exit(any([compare(Path(build), Path(file), all_texts) for file in files]))


if __name__ == "__main__":
    main()
