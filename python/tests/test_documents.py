# SPDX-License-Identifier: Apache-2.0
"""The examples in docstrings and in docs/python.md give what they show."""

import doctest
import importlib.util
import os
import tempfile
import unittest
from pathlib import Path

MODULES = ["arrays", "files", "model", "native", "pruning"]
PAGE = Path(os.environ["STEN_SOURCE"]) / "docs/python.md"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def has_torch():
    return importlib.util.find_spec("torch") is not None


class Documents(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_docstrings(self):
        for name in MODULES + ["nn"] * has_torch():
            module = importlib.import_module(f"sten_tools.{name}")
            failed, tried = doctest.testmod(module, optionflags=OPTIONS)
            self.assertEqual((failed, tried > 0), (0, True), name)

    def test_page(self):
        # A section that needs PyTorch imports it first.
        os.symlink(Path(os.environ["STEN_SOURCE"]) / "recipes", "recipes")
        sections = PAGE.read_text().split("\n## ")
        tried = 0
        for section in sections:
            if "import torch" in section and not has_torch():
                continue
            parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=OPTIONS)
            text = "\n".join("" if line.startswith("```") else line for line in section.splitlines())
            result = runner.run(parser.get_doctest(text, {}, section.split("\n")[0], str(PAGE), 0))
            self.assertEqual(result.failed, 0)
            tried += result.attempted
        self.assertGreater(tried, 0)


if __name__ == "__main__":
    unittest.main()
