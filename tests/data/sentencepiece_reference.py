#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/sentencepiece/: small models of SentencePiece, and texts with its ids and decoded texts.
Needs the Python packages sentencepiece 0.2 and tokenizers.

    python3 tests/data/sentencepiece_reference.py
"""

import io
import json
import random
import sys
from pathlib import Path

import sentencepiece

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "interop")]
from _texts import texts
from tokenizer_reference import LINES

# Full-width letters, a ligature, a fraction, an accent after its letter, and a tab.
RULES = [(chr(0xFF21 + i), chr(65 + i)) for i in range(26)] + [("ﬁ", "fi"), ("½", "1/2"), ("e\u0301", "é"), ("\t", " "), ("\u00ad", "")]


def trained(folder, **options):
    out = io.BytesIO()
    lines = [line for line in LINES for _ in range(3)]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=out, minloglevel=2, num_threads=1, hard_vocab_limit=False, **options
    )
    return out.getvalue()


def models(folder):
    rules = folder / "rules.tsv"
    rules.write_text("".join(f"{' '.join(f'{ord(c):X}' for c in a)}\t{' '.join(f'{ord(c):X}' for c in b)}\n" for a, b in RULES))
    yield "llama", trained(
        folder, model_type="bpe", vocab_size=480, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
        split_digits=True, allow_whitespace_only_pieces=True, character_coverage=0.98, control_symbols=["[INST]"],
    )
    yield "gemma", trained(
        folder, model_type="bpe", vocab_size=480, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
        add_dummy_prefix=False, pad_id=0, eos_id=1, bos_id=2, unk_id=3, user_defined_symbols=["\n", "\n\n", "▁▁", "▁▁▁", "<b>"],
    )
    yield "unigram", trained(
        folder, model_type="unigram", vocab_size=220, normalization_rule_tsv=str(rules), character_coverage=0.98, pad_id=0, eos_id=1, unk_id=2, bos_id=-1,
    )
    yield "unigram-bytes", trained(
        folder, model_type="unigram", vocab_size=420, byte_fallback=True, normalization_rule_name="identity", user_defined_symbols=["<sep>"],
    )
    rules.unlink()


def main():
    folder = HERE / "sentencepiece"
    folder.mkdir(exist_ok=True)
    r = random.Random(5)
    own = ["", " ", "   ", "▁▁a ▁", " a  b ", "<0x0A> x", "a <b>b</b> <sep>c", "ＡＢ ﬁ ½ e\u0301 x\u00ady", "a\n\n\n  b\n", "abcabc " * 3]
    every = [t for t in LINES + own + r.sample(texts(4000, seed=7)[2000:], 40) if len(t) < 120 and "\0" not in t]
    every = [t for t in every if not any(s in t for s in ("<s>", "</s>", "<unk>", "<pad>", "[INST]"))]
    tables = {}
    for name, model in models(folder):
        (folder / f"{name}.model").write_bytes(model)
        sp = sentencepiece.SentencePieceProcessor(model_proto=model)
        rows = [[t, sp.encode(t)] for t in every]
        tables[name] = [[ids, sp.decode([i for i in ids if i != sp.unk_id()])] for _, ids in rows]
        print(name, len(model), len(sp))
    document = {"version": sentencepiece.__version__, "texts": every, "models": tables}
    out = folder / "expected.json"
    out.write_text(json.dumps(document, ensure_ascii=True, separators=(",", ":")).replace("],[[", "],\n[[") + "\n")
    print(out.stat().st_size)


if __name__ == "__main__":
    main()
