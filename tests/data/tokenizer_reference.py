#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/tokenizer/: small tokenizers of each kind, and texts with the ids and decoded
texts of Hugging Face's tokenizers 0.23, which this needs.

    python3 tests/data/tokenizer_reference.py      the tokenizers of Unigram differ each time
"""

import json
import random
import sys
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "interop"))
from _texts import texts

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = LLAMA.replace("{1,3}", "")
LOWER, UPPER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTIONS}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# Texts to train on and to encode.
LINES = """
The weights of a layer are stored in blocks, and each block keeps its largest values.
We didn't change the order of rows; it's the same as before, isn't it? They've said so.
A tokenizer maps 2048 words to 17 numbers: 3.14, 1,000 and 2024-01-31 are numbers, too.
for (int i = 0; i < n; ++i) { sum += x[i] * y[i]; }\t// a loop
def mean(values):\n    return sum(values) / len(values)\n
Größe, naïve café, Ångström, ﬁne ½ ² IV, e\u0301 o\u0308\u0323
Вода и огонь. Το νερό είναι κρύο. מים חמים. الماء بارد.
水は冷たい。今日の天気はいいです。물은 차갑다. น้ำเย็น पानी ठंडा है।
👍 👩‍👩‍👧 🇫🇷 ✓ → ∑ “quoted” — dash…
  two blanks   three blanks\n\n\nthree lines \n \n mixed\r\nend\t\ttabs
""".strip().split("\n")
SPECIAL = ["<unk>", "<s>", "</s>"]
BYTES = [f"<0x{b:02X}>" for b in range(256)]
PLAIN = str.maketrans("", "", "".join(chr(c) for c in range(32)))


def replace(a, b):
    return normalizers.Replace(a, b)


def split(expression, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(expression), behavior, invert)


def byte_level(prefix=False, use_regex=True):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=use_regex)


def sequence(*steps):
    return pre_tokenizers.Sequence(list(steps))


def around(t, first, last=None):
    known = [(token, t.token_to_id(token)) for token in (first, last) if token]
    end = f" {last}" if last else ""
    return processors.TemplateProcessing(single=f"{first} $A{end}", pair=f"{first} $A{end} $B:1{end}", special_tokens=known)


def of_bytes(pre_tokenizer, normalizer=None, size=400, **model):
    t = Tokenizer(models.BPE(**model))
    t.pre_tokenizer, t.decoder = pre_tokenizer, decoders.ByteLevel()
    if normalizer:
        t.normalizer = normalizer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    t.train_from_iterator(LINES, trainers.BpeTrainer(vocab_size=size, special_tokens=["<|end|>"], initial_alphabet=alphabet, show_progress=False))
    t.post_processor = processors.Sequence([processors.ByteLevel(), around(t, "<|end|>")])
    return t


def of_characters(normalizer, pre_tokenizer, decoder, special=SPECIAL + BYTES, **model):
    """As converted from SentencePiece: characters, and bytes of others."""
    t = Tokenizer(models.BPE(unk_token="<unk>", **model))
    # Trained on blanks as U+2581, which no normalizer of the trained one changes.
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    lines = [line.translate(PLAIN) for line in LINES[:6]]
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=len(special) + 150, special_tokens=special, show_progress=False))
    t = Tokenizer.from_str(with_bytes_as_subwords(t.to_str()))
    t.decoder = decoder
    if normalizer:
        t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizer  # may be None
    t.post_processor = around(t, "<s>", "</s>")
    return t


def with_bytes_as_subwords(text):
    j = json.loads(text)
    j["added_tokens"] = [a for a in j["added_tokens"] if not a["content"].startswith("<0x")]
    return json.dumps(j)


def llama_decoder(strip=True):
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence(steps + ([decoders.Strip(" ", 1, 0)] if strip else []))


def unigram(byte_fallback):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Strip(), replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer, t.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    lines = [line.translate(PLAIN) for line in LINES[:6]]
    special = SPECIAL + (BYTES if byte_fallback else [])
    t.train_from_iterator(lines * 4, trainers.UnigramTrainer(vocab_size=len(special) + 130, special_tokens=special, unk_token="<unk>", show_progress=False))
    j = json.loads(with_bytes_as_subwords(t.to_str()))
    j["model"]["byte_fallback"] = byte_fallback
    t = Tokenizer.from_str(json.dumps(j))
    if byte_fallback:
        t.decoder = llama_decoder()
    t.post_processor = around(t, "<s>", "</s>")
    return t


def with_added(t):
    t.add_special_tokens([AddedToken("<|left|>", lstrip=True), AddedToken("<|right|>", rstrip=True)])
    t.add_tokens([AddedToken("word", single_word=True), AddedToken("Größe", normalized=True), AddedToken("  ", normalized=False)])
    return t


def all_tokenizers():
    blanks = normalizers.Sequence([normalizers.Prepend("▁"), replace(" ", "▁")])
    cases = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()])
    merged = sequence(split(r"\p{P}+", "merged_with_previous"), split(r"[a-z]+", "merged_with_next"), split("[0-9]", "contiguous"), split(r"\s+", "removed"))
    return {
        "gpt2": of_bytes(byte_level(), unk_token="<|end|>"),
        "gpt-neox": of_bytes(byte_level(), normalizers.NFC()),
        "opt": of_bytes(byte_level(True)),
        "llama3": of_bytes(sequence(split(LLAMA), byte_level(False, False)), ignore_merges=True),
        "qwen2": with_added(of_bytes(sequence(split(QWEN), byte_level(False, False)), normalizers.NFC())),
        "o200k": of_bytes(sequence(split(O200K, "removed", True), byte_level(False, False))),
        "smollm2": of_bytes(sequence(pre_tokenizers.Digits(True), byte_level())),
        "cases": of_bytes(sequence(pre_tokenizers.Digits(), pre_tokenizers.Punctuation("contiguous"), byte_level()), cases),
        "behaviors": of_bytes(sequence(merged, split("[aeiou]", "isolated", True), byte_level(False, False)), normalizers.NFKD()),
        "llama2": of_characters(blanks, None, llama_decoder(), byte_fallback=True, fuse_unk=True),
        "mistral": of_characters(None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False), llama_decoder(), byte_fallback=True, fuse_unk=True),
        "gemma": of_characters(replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"), llama_decoder(False), byte_fallback=True),
        "unknown": with_added(of_characters(blanks, None, decoders.Metaspace(), SPECIAL)),
        "unigram": with_added(unigram(False)),
        "unigram-bytes": unigram(True),
    }


def compact(t):
    """The file with the keys that are read."""
    j = json.loads(t.to_str())
    return json.dumps(j, ensure_ascii=False, separators=(",", ":")) + "\n"


def main():
    folder = HERE / "tokenizer"
    r = random.Random(5)
    added = "a word, words <|left|>  <|right|>  x Größe gr\u00f6\u00dfe  <unk><s> </s><0x0A>"
    every = LINES + [added, "", " ", "▁▁a ▁", "don'T I'LL"] + r.sample(texts(4000, seed=7)[2000:], 60)
    every = [text for text in every if len(text) < 120]
    tables = {}
    for name, t in all_tokenizers().items():
        file = folder / f"{name}.json"
        file.write_text(compact(t))
        rows = []
        for text in every:
            ids = t.encode(text, add_special_tokens=False).ids
            whole = t.encode(text).ids  # with the special tokens
            at = next(i for i in range(len(whole) + 1) if whole[i : i + len(ids)] == ids)
            rows.append([ids, whole[:at], whole[at + len(ids) :], t.decode(ids)])
        tables[name] = rows
        print(name, file.stat().st_size, t.get_vocab_size())
    document = {"version": tokenizers.__version__, "texts": every, "tokenizers": tables}
    out = folder / "expected.json"
    out.write_text(json.dumps(document, ensure_ascii=True, separators=(",", ":")).replace('],[[', '],\n[[') + "\n")
    print(out.stat().st_size)


if __name__ == "__main__":
    main()
