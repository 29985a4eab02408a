# SPDX-License-Identifier: Apache-2.0
"""Writes the texts of the tables in recipes/llm/README.md: mixed.txt for calibration and training, and the held-out
handbook.txt and shakespeare.txt.

    python3 scripts/bench/llm_texts.py FOLDER      # needs the Debian package debian-handbook
"""

import html
import re
import sys
from pathlib import Path

PAGES = Path("/usr/share/doc/debian-handbook/html/en-US")
SHAKESPEARE = Path(__file__).parents[2] / "recipes/data/tinyshakespeare.txt"
CHARACTERS, CHUNK = 600_000, 20_000  # of each text in the mixture
HELD_OUT = 40_000


def text_of(page):
    """The text of an HTML page, with a line per block."""
    s = page.read_text(errors="replace")
    s = re.sub(r"(?s)<(script|style|head).*?</\1>", "", s)
    s = re.sub(r"<(p|div|h\d|li|pre|br|tr)[^>]*>", "\n", s)
    s = html.unescape(re.sub(r"<[^>]+>", "", s))
    return re.sub(r"\n\s*\n+", "\n\n", re.sub(r"[ \t]+", " ", s)).strip() + "\n\n"


def main():
    pages = [text_of(page) for page in sorted(PAGES.glob("*.html")) if page.name != "index.html"]
    if not pages:
        sys.exit(f"{sys.argv[0]}: {PAGES} has no pages (install debian-handbook)")
    held_out = "".join(pages[5::8])  # every eighth page
    handbook = "".join(page for i, page in enumerate(pages) if i % 8 != 5)[:CHARACTERS]
    shakespeare = SHAKESPEARE.read_text()
    mixed = ""
    for i in range(0, CHARACTERS, CHUNK):
        mixed += f"{handbook[i : i + CHUNK]}\n\n{shakespeare[i : i + CHUNK]}\n\n"
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mixed.txt").write_text(mixed)
    (folder / "handbook.txt").write_text(held_out[:HELD_OUT])
    (folder / "shakespeare.txt").write_text(shakespeare[-100_000:][:HELD_OUT])


if __name__ == "__main__":
    main()
