#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collects the pages of the documentation site, and the files that they link to: collect.py ROOT OUT. Prints the
navigation for mkdocs.yml: the pages in the order of the README's tables."""

import json
import os
import re
import sys

LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")
ROW = re.compile(r"^\| \[(docs/[^\]]+\.md)\]\(\1\) \|")
GROUP = re.compile(r"^\| for (.*?) \| \|$")


def without_code(text):
    return re.sub(r"`[^`]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


def write(out, path, content):
    target = os.path.join(out, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as file:
        file.write(content)


def collect(root, out):
    """The README, the pages that it leads to, and the other files that these link to."""
    pages = ["README.md"]
    for page in pages:  # grows
        with open(os.path.join(root, page), encoding="utf-8") as file:
            text = file.read()
        for link, _ in LINK.findall(without_code(text)):
            path = os.path.normpath(os.path.join(os.path.dirname(page), link))
            if path.endswith(".md") and os.path.isfile(os.path.join(root, path)):
                pages += [path] if path not in pages else []
            elif os.path.isfile(os.path.join(root, path)):
                with open(os.path.join(root, path), "rb") as file:
                    write(out, path, file.read())
            elif os.path.isdir(os.path.join(root, path)):  # a site has no folders of sources
                text = re.sub(r"\[([^\]]*)\]\(" + re.escape(link) + r"\)", r"\1", text)
        write(out, page, text.encode())


def title(root, page):
    with open(os.path.join(root, page), encoding="utf-8") as file:
        return next((line[2:].strip() for line in file if line.startswith("# ")), page)


def navigation(root):
    nav = [{"Overview": "README.md"}]
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        for line in file:
            if group := GROUP.match(line):
                nav.append({"For " + group[1]: []})
            elif (row := ROW.match(line)) and isinstance(next(iter(nav[-1].values())), list):
                next(iter(nav[-1].values())).append({title(root, row[1]): row[1]})
    return nav


collect(sys.argv[1], sys.argv[2])
print("nav: " + json.dumps(navigation(sys.argv[1])))
