#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens report pages in a real browser, on screens of three widths, in light and dark mode, and on paper, and
checks layout, contrast and sorting: pages.py OUT PAGE.html... Writes screenshots to the directory OUT. Exit code 77
without Chromium."""

import os
import sys
import tempfile

from _browser import Browser, find_browser

WIDTHS = (390, 768, 1280)
SORT = """(() => {
  const table = document.querySelector('table');
  if (!table || table.tBodies[0].rows.length < 2) return null;
  const head = [...table.tHead.rows[0].cells].findIndex(h => h.classList.contains('num'));
  if (head < 0) return null;
  const button = table.tHead.rows[0].cells[head].querySelector('button');
  button.focus();
  return head;
})()"""
SORTED = """(head => {
  const table = document.querySelector('table');
  const values = [...table.tBodies[0].rows].map(r => r.cells[head].dataset.v ?? r.cells[head].textContent)
    .filter(v => v !== '').map(v => Number(v.replaceAll(',', '')));
  return {sort: table.tHead.rows[0].cells[head].getAttribute('aria-sort'),
          descending: values.every((v, i) => i === 0 || values[i - 1] >= v),
          outline: getComputedStyle(document.activeElement).outlineStyle};
})(%d)"""


def check_sorting(browser):
    """Enter on a header sorts its numbers in descending order first."""
    head = browser.evaluate(SORT)
    if head is None:
        return []
    browser.press("Enter", 13)
    state = browser.evaluate(SORTED % head)
    faults = []
    if state["sort"] != "descending" or not state["descending"]:
        faults.append(f"Enter on the header of column {head} does not sort: {state}")
    if state["outline"] == "none":
        faults.append("the focus cannot be seen")
    return faults


def check_page(browser, page, out, script):
    name = os.path.splitext(os.path.basename(page))[0]
    faults = []
    for width in WIDTHS:
        for dark in (False, True):
            browser.open(page, width, dark)
            where = f"{name}, {width} pixels, {'dark' if dark else 'light'}"
            found = browser.evaluate(script) + browser.complaints()
            browser.screenshot(os.path.join(out, f"{name}-{width}-{'dark' if dark else 'light'}.png"))
            if width == WIDTHS[-1] and not dark:
                found += check_sorting(browser)
            faults += [f"{where}: {fault}" for fault in found]
    browser.open(page, 718, True, "print")  # the width of A4 within its margins
    faults += [f"{name}, printed: {fault}" for fault in browser.evaluate(script) if "wide in a window" not in fault]
    return faults


def main():
    if len(sys.argv) < 3:
        sys.exit("pages.py: expected OUT PAGE.html...")
    path = find_browser()
    if not path:
        print("pages.py: skipped: no Chromium found")
        sys.exit(77)
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "pages.js"), encoding="utf-8") as file:
        script = file.read()
    faults = []
    with tempfile.TemporaryDirectory() as profile, Browser(path, profile) as browser:
        for page in sys.argv[2:]:
            faults += check_page(browser, page, out, script)
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


main()
