# SPDX-License-Identifier: Apache-2.0
"""Tokenizers that describe much: vocabularies, templates, added tokens and pieces out of proportion."""

import json

RECIPE = {
    "schema": 1,
    "model": {"kind": "bert", "config": "config.json"},
    "data": {"kind": "labelled-text", "file": "rows.csv", "vocabulary": "tokenizer", "window": 32},
    "optimizer": {"kind": "adamw", "rate": 0.004},
    "steps": 2,
    "batch": 2,
}
CONFIG = {
    "vocab_size": 70000,
    "hidden_size": 2,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "intermediate_size": 2,
    "max_position_embeddings": 32,
}
ROWS = [("a b c", "x"), ("b a", "y"), ("c a b", "x"), ("a", "y")] * 8
SPECIAL = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
LETTERS = {"a": 5, "b": 6, "c": 7}


def files(tokenizer, rows=ROWS, **data):
    recipe = {**RECIPE, "data": {**RECIPE["data"], **data}}
    table = "text,label\n" + "".join(f"{text},{label}\n" for text, label in rows)
    return {
        "recipe.json": json.dumps(recipe).encode(),
        "config.json": json.dumps(CONFIG).encode(),
        "rows.csv": table.encode(),
        **{f"tokenizer/{k}": v if isinstance(v, bytes) else json.dumps(v).encode() for k, v in tokenizer.items()},
    }


def template(one=None, two=None, tokens=None):
    cls, sep = ({"SpecialToken": {"id": t, "type_id": 0}} for t in ("[CLS]", "[SEP]"))
    a, b = ({"Sequence": {"id": t, "type_id": 0}} for t in "AB")
    return {
        "type": "TemplateProcessing",
        "single": [cls, *(one or []), a, sep],
        "pair": [cls, a, sep, *(two or []), b, sep],
        "special_tokens": tokens or {t: {"id": t, "ids": [SPECIAL[t]], "tokens": [t]} for t in ("[CLS]", "[SEP]")},
    }


def word_piece(vocab=(), rows=ROWS, model=(), **more):
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": template(),
        "decoder": {"type": "WordPiece", "prefix": "##"},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "vocab": {**SPECIAL, **LETTERS, **dict(vocab)},
            **dict(model),
        },
        **more,
    }
    return files({"tokenizer.json": tokenizer}, rows)


def byte_pair_encoding(vocab=(), merges=(), rows=ROWS, **more):
    letters = {chr(c): 100 + c for c in [*range(33, 127), *range(161, 512)]}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
        "model": {"type": "BPE", "vocab": {**letters, **SPECIAL, **dict(vocab)}, "merges": list(merges)},
        **more,
    }
    return files({"tokenizer.json": tokenizer}, rows)


def added(content, i, **how):
    return {"id": i, "content": content, "special": True, **how}


def far_id(size):
    return word_piece({"x" * (size // 4): 2**24 - 1})


def far_added(size):
    return word_piece({}, added_tokens=[added("x" * min(900, size // 4), 2**24 - 1)])


def many_pieces(size):
    return word_piece({f"{i:x}": 100 + i for i in range(size // 14)})


def long_pieces(size):
    """Pieces of many letters, and words that nearly are such."""
    n = min(40000, size // 8)
    return word_piece({"a" * n: 90, "##" + "a" * n: 91, "##a": 92}, [("a" * (n - 1), "x"), ("b", "y")] * 2, {"max_input_chars_per_word": 100000})


def long_words(size):
    """As long as words may be, of pieces that begin alike."""
    vocab = {**{"a" * i: 100 + i for i in range(2, 100)}, **{"##" + "a" * i: 200 + i for i in range(1, 100)}}
    return word_piece(vocab, [("a" * 99 + "b", "x"), ("aa", "y")] * (size // 110))


def longest_words(size):
    vocab = {"##a": 90, "a" * 1001: 91, "##" + "a" * 1001: 92}
    return word_piece(vocab, [("a" * 1000, "x"), ("aa", "y")] * (size // 1010), {"max_input_chars_per_word": 1000})


def special_references(size):
    """A template that names a token of many ids again and again."""
    n = max(8, int((size / 2) ** 0.5))
    tokens = {"[CLS]": {"id": "[CLS]", "ids": [2] * n, "tokens": []}, "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": []}}
    return word_piece(post_processor=template([{"SpecialToken": {"id": "[CLS]", "type_id": 0}}] * (size // 60), None, tokens))


def special_ids(size):
    tokens = {"[CLS]": {"id": "[CLS]", "ids": [2] * (size // 4), "tokens": []}, "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": []}}
    return word_piece(post_processor=template(tokens=tokens))


def special_key(size):
    """Ids below a key that is long."""
    key = "k" * (size // 2)
    tokens = {t: {"id": t, "ids": [2] * n, "tokens": []} for t, n in ((key, size // 8), ("[CLS]", 1), ("[SEP]", 1))}
    return word_piece(post_processor=template([{"SpecialToken": {"id": key, "type_id": 0}}], None, tokens))


def many_added(size):
    """Tokens that begin alike, and a text that begins so at each byte."""
    tokens = [added("<" * 20 + str(i), 100 + i) for i in range(size // 160)]
    return word_piece({}, [("<" * (size // 8), "x"), ("b", "y")] * 2, added_tokens=tokens)


def long_added(size):
    tokens = [added("a" * 999, 101), added("a" * 500 + "b", 102)]
    return word_piece({}, [("a" * 998 + " ", "x"), ("b", "y")] * (size // 1000), added_tokens=tokens)


def spaced_added(size):
    """Tokens that take the white space around them."""
    tokens = [added("<m>", 100, lstrip=True, rstrip=True)]
    return word_piece({}, [(" " * (size // 8) + "<m>" + " " * (size // 8), "x"), (("<m>" + " " * 50) * (size // 200), "y")] * 2, added_tokens=tokens)


def normalized_added(size):
    tokens = [added("É" * min(400, size // 30) + str(i), 100 + i, normalized=True) for i in range(20)]
    return word_piece({}, [("é" * (size // 4), "x"), ("b", "y")] * 2, added_tokens=tokens)


def merges(size):
    """Each piece a letter longer than the last."""
    n = int((size / 2) ** 0.5)
    vocab = {"a" * i: 1000 + i for i in range(2, n)}
    return byte_pair_encoding(vocab, [f"{'a' * i} a" for i in range(1, n - 1)], [("a" * (size // 4), "x"), ("b", "y")] * 2)


def doubled_merges(size):
    vocab = {"a" * 2**i: 1000 + i for i in range(1, size.bit_length() - 2)}
    pairs = [f"{'a' * 2**i} {'a' * 2**i}" for i in range(size.bit_length() - 4)]
    return byte_pair_encoding(vocab, pairs, [("a" * (size // 4), "x"), ("b", "y")] * 2)


def numbers_as_merges(size):
    return byte_pair_encoding({}, [0] * (size // 3))


def one_word(size):
    return byte_pair_encoding({}, [], [("a1" * (size // 8), "x"), ("!" * (size // 4), "y")] * 2)


def marks(size):
    """A letter with very many accents, in the wrong order."""
    return word_piece({}, [("a" + "\u0301\u0316" * (size // 16), "x"), ("b", "y")] * 2)


def nested(size):
    return files({"tokenizer.json": b"[" * size})


def wide(size):
    return files({"tokenizer.json": b'{"model": [' + b"0," * (size // 2) + b"0]}"})


def wide_objects(size):
    return files({"tokenizer.json": b"{" + b",".join(b'"%x":{}' % i for i in range(size // 10)) + b"}"})


def rows(size):
    return word_piece({}, [("a", "x"), ("b", "y")] * (size // 8))


def labels(size):
    return word_piece({}, [("a", i) for i in range(size // 8)])


def far_label(size):
    return word_piece({}, [("a", 0), ("b", 2**31 - 1)] * (size // 24))


TOKENIZERS = {
    "far id": far_id,
    "far added token": far_added,
    "many pieces": many_pieces,
    "long pieces": long_pieces,
    "long words": long_words,
    "longest words": longest_words,
    "special references": special_references,
    "special ids": special_ids,
    "special key": special_key,
    "many added tokens": many_added,
    "long added tokens": long_added,
    "spaced added tokens": spaced_added,
    "normalized added tokens": normalized_added,
    "merges": merges,
    "doubled merges": doubled_merges,
    "numbers as merges": numbers_as_merges,
    "one word": one_word,
    "marks": marks,
    "nested": nested,
    "wide": wide,
    "wide objects": wide_objects,
    "rows": rows,
    "labels": labels,
    "far label": far_label,
}


# ------------------------------------------------------------- vocabularies of one file or two


def masked(vocabulary, text="a b c " * 100, **more):
    made = files({"vocab.json": vocabulary, **more}, kind="masked-text")
    recipe = json.loads(made["recipe.json"])
    recipe["data"] = {"kind": "masked-text", "text": "text.txt", "vocabulary": "tokenizer", "window": 8}
    return {**made, "recipe.json": json.dumps(recipe).encode(), "text.txt": text.encode()}


def lines(all_lines, rows=ROWS, **more):
    return files({"vocab.txt": "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *all_lines]).encode(), **more}, rows)


CHARACTERS = {**SPECIAL, **LETTERS, " ": 8}
BYTES = {**{chr(c): 100 + c for c in [*range(33, 127), *range(161, 512)]}, "[MASK]": 0, "ab": 700}


def many_characters(size):
    some = {chr(c): c for c in range(0x100, min(0x100 + size // 12, 0xD000))}
    return masked({**CHARACTERS, **some})


VOCABULARIES = {
    "far character": lambda size: masked({**CHARACTERS, "d": 2**24 - 1}, "a b " * (size // 4)),
    "many characters": many_characters,
    "many specials": lambda size: masked({**CHARACTERS, **{f"[{i}]": 100 + i for i in range(size // 16)}}),
    "long special": lambda size: masked({**CHARACTERS, f"[{'x' * size}]": 90}),
    "long character": lambda size: masked({**CHARACTERS, "x" * size: 90}),
    "long text": lambda size: masked(CHARACTERS, "abc " * (size // 4)),
    "unknown text": lambda size: masked(CHARACTERS, "abc " * (size // 4) + "\n" * (size // 4) + "é"),
    "no text": lambda size: masked(CHARACTERS, "\n" * size),
    "lines": lambda size: lines([f"{i:x}" for i in range(size // 6)]),
    "short lines": lambda size: lines([""] * size),
    "long line": lambda size: lines(["x" * size]),
    "long lines": lambda size: lines(["a" * min(i, 4000) + str(i) for i in range(0, size // 500)]),
    "equal merges": lambda size: masked(BYTES, **{"merges.txt": b"a b\n" * (size // 4)}),
    "long merge": lambda size: masked({**BYTES, "a" * (size // 3): 90, "a" * (size // 3 + 1): 91}, **{"merges.txt": b"a" * (size // 3) + b" a\n"}),
    "empty merges": lambda size: masked(BYTES, "ab " * 100, **{"merges.txt": b"\n" * size}),
    "config": lambda size: lines(["a"], **{"tokenizer_config.json": {"added_tokens_decoder": {str(100 + i): added(f"<{i}>", 0) for i in range(size // 80)}}}),
    "config of a far token": lambda size: lines(["a"], **{"tokenizer_config.json": {"added_tokens_decoder": {str(2**24 - 1): added("x" * min(size, 900), 0)}}}),
}

COMMANDS = [["train", "recipe.json", "--dry-run", "--out", "OUT"]]
FORMATS = {"tokenizer": (TOKENIZERS, COMMANDS), "vocabulary": (VOCABULARIES, COMMANDS)}
