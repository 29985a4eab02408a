# SPDX-License-Identifier: Apache-2.0
# Report pages and charts of every program, opened in a real browser if one is installed. With a
# directory as argument, keeps the pages, charts and screenshots there.
. "$(dirname "$0")/../cli/_lib.sh"
. "$(dirname "$0")/../cli/_recipe.sh"
OUT=${1:-$T/pages}
mkdir -p "$OUT"
cd "$T"

# reported NAME COMMAND...: writes NAME.html and NAME.svg.
reported() {
  page=$1
  shift
  expect_exit "${EXIT:-0}" "$@" --report "$OUT/$page.html" --report "$OUT/$page.svg" --force -q
  grep -q '<svg' "$OUT/$page.svg" || fail "$page.svg is not a chart"
  python3 - "$OUT/$page.html" "$OUT/$page.svg" <<'PYTHON' || fail "$page is not well-formed"
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

EMPTY = {"meta", "wbr"}


class Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"{tag} at {self.getpos()}"


parser = Balanced()
parser.feed(open(sys.argv[1], encoding="utf-8").read())
assert not parser.open, parser.open
ElementTree.parse(sys.argv[2])
PYTHON
}

reported prune sten-prune "$MODEL" -o pruned.safetensors --sparsity 0.9 --to bitmask
sten-prune "$MODEL" -o half.safetensors --sparsity 0.5 --to bitmask -q
EXIT=3 reported failed sten-prune "$MODEL" -o no.safetensors --sparsity 0.9 --min-energy 0.9
reported convert sten-convert pruned.safetensors -o csr.safetensors --to csr
reported energy sten-energy pruned.safetensors --against "$MODEL"
reported models sten-energy pruned.safetensors half.safetensors csr.safetensors --against "$MODEL"
reported list sten-energy --list "$MODEL"
EXIT=3 reported diff sten-energy --diff "$MODEL" pruned.safetensors
reported sweep sten-energy "$MODEL" --sweep --include '*layer.0.attention.self.key.weight'
reported train train run
reported preview sten-train "$RECIPE" --out unused --dry-run
reported run sten-run run --repeats 5
reported explain sten-run run --explain
reported bench sten-bench convert --shape 96x160 --layouts nmg:n=2,m=4,g=4 --layouts csr:sparsity=0.9 --repeats 3

# The chart of each program shows its main result.
grep -q 'Sparsity and energy' "$OUT/prune.svg" ||
  fail 'the chart of sten-prune does not show sparsity and energy'
grep -q '>before<' "$OUT/convert.svg" || fail 'the chart of sten-convert does not show sizes'
grep -q 'Pareto front' "$OUT/models.svg" || fail 'the chart of several models has no Pareto front'
grep -qE '<path d="M[^"L]*H[0-9.]+V' "$OUT/train.svg" || fail 'the schedule of sparsity is not drawn in steps'
grep -q 'Time of a batch' "$OUT/run.svg" || fail 'the chart of sten-run does not show times'
grep -q 'times as fast as the baseline' "$OUT/bench.svg" || fail 'the chart of sten-bench does not show ratios'

# A page about many tensors lists only the largest ones, and stays small.
python3 - <<'PYTHON'
import json
import struct

names = [f"model.layers.{i}.mlp.experts.{j}.up_proj.weight" for i in range(1000) for j in range(100)]
header = json.dumps({n: {"dtype": "F32", "shape": [2, 4], "data_offsets": [32 * k, 32 * k + 32]}
                     for k, n in enumerate(names)}).encode()
with open("many.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header + struct.pack("<8f", 1, 0, 2, 0, 3, 0, 0, 4) * len(names))
PYTHON
reported many sten-energy many.safetensors
[ "$(stat -c %s "$OUT/many.html")" -lt 2000000 ] || fail 'the page of 100,000 tensors has 2 MB or more'
grep -q 'The 1,000 largest of 100,000 tensors; 99,000 are left out here' "$OUT/many.html" ||
  fail 'the page does not say that tensors are left out'

PYTHONDONTWRITEBYTECODE=1 python3 "$STEN_SOURCE/tests/report/pages.py" "$OUT" "$OUT"/*.html
