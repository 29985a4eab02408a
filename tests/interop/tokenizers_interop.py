# SPDX-License-Identifier: Apache-2.0
"""Ids and texts of sten's tokenizers, against HuggingFace's on texts of all of Unicode."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from _programs import BIN, SOURCE, Case
from _texts import texts

sys.path.insert(0, str(SOURCE / "scripts/checks"))
import compare_tokenizer

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TOKENIZERS_PARALLELISM="false")
try:
    import tokenizers
    import transformers
except ImportError as error:
    print(f"skipped: {error}; STEN_PYTHON names a Python with tokenizers and transformers")
    sys.exit(77)

COUNT = 12000
TEXTS = texts(COUNT)
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def training_texts():
    lines = (SOURCE / "recipes/data/tinyshakespeare.txt").read_text().splitlines()[:8000]
    return lines + texts(4000, seed=2)[2000:]


def word_piece(folder, lowercase):
    """Trained, and saved as transformers saves it; the one with case without a tokenizer.json."""
    t = tokenizers.BertWordPieceTokenizer(lowercase=lowercase)
    t.train_from_iterator(training_texts(), vocab_size=4000, special_tokens=SPECIAL, show_progress=False)
    t.save_model(str(folder))
    fast = transformers.BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=lowercase)
    fast.save_pretrained(folder)
    if not lowercase:
        (folder / "tokenizer.json").unlink()
    return fast


def byte_pair_encoding(folder, prefix, as_json):
    t = tokenizers.ByteLevelBPETokenizer()
    t.train_from_iterator(training_texts(), vocab_size=3000, special_tokens=["<|endoftext|>"], show_progress=False)
    t.save_model(str(folder))
    files = str(folder / "vocab.json"), str(folder / "merges.txt")
    fast = transformers.GPT2TokenizerFast(*files, add_prefix_space=prefix)
    fast.save_pretrained(folder)
    if not as_json:
        (folder / "tokenizer.json").unlink()
    return fast


class Tokenizers(Case):
    def compare(self, fast, folder):
        path = self.folder / "texts.json"
        path.write_text(json.dumps(TEXTS))
        out = subprocess.run([BIN / "sten_tokenize", folder, path], check=True, capture_output=True).stdout
        lines = out.decode().split("\n")[:-1]
        self.assertEqual(len(lines), len(TEXTS))
        wrong = 0
        for text, line in zip(TEXTS, lines):
            got = json.loads(line)
            ids = fast.encode(text, add_special_tokens=False)
            pair = fast(text, text, truncation="longest_first", max_length=24, return_token_type_ids=True)
            wanted = {
                "ids": ids,
                "sequence": fast.encode(text),
                "pair": pair["input_ids"],
                "types": pair["token_type_ids"],
                "text": fast.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False),
            }
            if not text:  # an empty second text is none to transformers
                wanted["pair"], wanted["types"] = got["pair"], got["types"]
            if isinstance(fast, transformers.GPT2TokenizerFast):  # it has nothing to tell texts by
                wanted["types"] = got["types"]
                wanted["pair"] = got["pair"]
            if got != wanted:
                wrong += 1
                if wrong < 5:
                    self.report(text, got, wanted)
        print(f"{folder.name}: {len(TEXTS) - wrong} of {len(TEXTS)} texts have the same ids")
        self.assertEqual(wrong, 0)

    def report(self, text, got, wanted):
        for key in wanted:
            if got[key] != wanted[key]:
                at = next((i for i, (a, b) in enumerate(zip(got[key], wanted[key])) if a != b), -1)
                print(f"{key} at {at}: {got[key][at - 2:at + 5]} is not {wanted[key][at - 2:at + 5]} of {text[:80]!a}")
                return

    def made(self, name):
        folder = self.folder / name
        folder.mkdir()
        return folder

    def test_word_pieces_without_case(self):
        folder = self.made("uncased")
        self.compare(word_piece(folder, True), folder)

    def test_word_pieces_with_case_of_vocab_txt(self):
        folder = self.made("cased")
        self.compare(word_piece(folder, False), folder)

    def test_word_pieces_with_accents(self):
        folder = self.made("accents")
        word_piece(folder, True)
        (folder / "tokenizer.json").unlink()
        (folder / "tokenizer_config.json").write_text('{"do_lower_case": true, "strip_accents": false}')
        fast = transformers.BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=True, strip_accents=False)
        self.compare(fast, folder)

    def test_byte_pairs_of_tokenizer_json(self):
        folder = self.made("gpt2")
        self.compare(byte_pair_encoding(folder, False, True), folder)

    def test_byte_pairs_of_vocab_and_merges_with_a_prefix(self):
        folder = self.made("prefix")
        self.compare(byte_pair_encoding(folder, True, False), folder)

    def test_every_kind_of_tokenizer_json(self):
        for path in sorted((SOURCE / "tests/data/tokenizer").glob("*.json")):
            if path.name == "expected.json":
                continue
            file = self.made(path.stem) / "tokenizer.json"
            file.write_bytes(path.read_bytes())
            with self.subTest(path.name):
                self.assertEqual(compare_tokenizer.compare(BIN.parent, file, TEXTS[:: COUNT // 2000]), 0)


if __name__ == "__main__":
    unittest.main()
