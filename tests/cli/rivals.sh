# SPDX-License-Identifier: Apache-2.0
# scripts/rivals.sh: rounds of sten-bench, and one table and chart of several runtimes. Parts that
# need packages from the network are not tested.
. "$(dirname "$0")/_lib.sh"
cd "$T"
if ! command -v python3 >/dev/null; then
  echo "rivals: skipped, python3 is missing"
  exit 77
fi
rivals() { "$STEN_SOURCE/scripts/rivals.sh" "$@"; }

expect_exit 0 rivals --help
for option in --form --threads --rounds --runtime --venv --merge --quick --output; do expect_out "$option"; done
expect_exit 2 rivals -o table.txt
expect_err 'has to end in .json, .csv, .md or .svg'
expect_exit 2 rivals --sparsity 1.5
expect_exit 2 rivals --threads 0

# --runtime sten needs no other packages. Each round measures both dense libraries and every layout.
expect_exit 0 rivals --quick --runtime sten --form gemm --form linear --sparsity 0.5 --sparsity 0.9 \
  -o r.json -o r.csv -o r.md -o r.svg
expect_out 'nmg:n=2,m=4,g=16'
expect_out 'ratio: to the fastest dense product in float32 of the same form, shape and threads'
[ "$(grep -c '^linear,96x192x256,1,0.9,sten,.*nmg:n=1,m=10,g=1' r.csv)" = 1 ] || fail 'expected exactly one row of linear, 1:10:1 in r.csv'
grep -q '^|  | sten n:m:g, small g |.* ms) |.* ms) |$' r.md || fail 'r.md lacks the overview'
grep -q '^| gemm | 96x192x256 | 1 | 50 % | sten |' r.md || fail 'r.md lacks the row of gemm at 50 %'
python3 - <<'PYTHON' || fail 'the results are not as documented'
import json, xml.dom.minidom
d = json.load(open("r.json"))
assert d["schema"] == 1 and d["machine"]["cpu"] and d["machine"]["threads"] >= 1
for r in d["results"]:
    assert r["rounds"] == len(r["ms_of_rounds"]) == 2 and r["isa"] and r["version"], r
    assert r["ratio_low"] <= r["ratio"] <= r["ratio_high"], r
best = [r for r in d["results"] if r["layout"] == "dense" and r["ratio_low"] == r["ratio_high"] == 1]
assert {r["form"] for r in best} == {"gemm", "linear"}, best
text = xml.dom.minidom.parse("r.svg").toxml()
assert "linear 96x192x256, 1 thread" in text and "sten n:m:g, small g" in text
PYTHON
expect_exit 0 rivals --merge r.json
expect_exit 0 rivals --merge r.json -o r2.json
cmp r.json r2.json || fail '--merge of a single file changes its results'

# Ratios are taken within each round, to the dense product with the lowest median of any runtime.
PYTHONPATH=$STEN_SOURCE/scripts/bench/rivals python3 -B - <<'PYTHON' || fail 'the ratios are wrong'
import json, measure, results
setup = {"form": "gemm", "shape": [8, 8, 8], "threads": 2, "sparsities": [0.75], "version": "9", "precisions": []}
sten = measure.Sten("sten-bench", {**setup, "repeats": 1})
def said(dense, nmg):
    row = {"isa": "avx2", "library": None, "precision": "float32", "error": 1e-7}
    return {"results": [{**row, "layout": "dense", "library": "OpenBLAS 0.3 Haswell", "ms": dense},
                        {**row, "layout": "nmg:n=1,m=4,g=16", "ms": nmg}]}
for dense, nmg in [(10.0, 2.0), (30.0, 6.0), (10.0, 1.0)]: sten.add(said(dense, nmg))
torch = measure.Record(line=None, runtime="PyTorch", version="2", layout="dense", sparsity=0, isa="avx2", note="",
                       precision="float32", error=2e-7)
torch["ms"] += [8.0, 24.0, 9.0]  # the machine was three times slower in the second round
rows = results.summarize(setup, [*sten.records.values(), torch])
assert [r["runtime"] for r in rows] == ["PyTorch", "OpenBLAS", "sten"], rows
assert rows[1]["version"] == "0.3 Haswell" and rows[2]["line"] == "sten n:m:g" and rows[2]["sparsity"] == 0.75
assert rows[2]["ratio"] == 4 and (rows[2]["ratio_low"], rows[2]["ratio_high"]) == (4, 9), rows[2]
assert results.spread(list(range(7))) == (3, 0, 6) and results.spread(list(range(15))) == (7, 3, 11)
document = {"schema": 1, "machine": {"cpu": "A", "threads": 2}, "results": rows}
json.dump(document, open("two.json", "w"))
json.dump({**document, "machine": {"cpu": "B", "threads": 2}}, open("other.json", "w"))
PYTHON
expect_exit 0 rivals --merge two.json -o two.svg
expect_out 'gemm  8x8x8        2       0 %  PyTorch   2            dense             float32    avx2  9.00  2.0e-07   1.00   1.00   1.00       3'
expect_exit 1 rivals --merge two.json --merge other.json
expect_err 'other.json: was measured on another machine'
expect_exit 1 rivals --merge two.json --merge two.json
expect_err 'two.json: gemm 8x8x8, 2 threads is in another file too'
for text in '' '[]' '{"schema": 2}'; do
  printf '%s' "$text" >bad.json
  expect_exit 1 rivals --merge bad.json
  expect_err 'rivals: bad.json: not results of scripts/rivals.sh'
done
expect_exit 1 rivals --merge missing.json
expect_err 'missing.json'

# Missing programs and environments are reported, and nothing is overwritten.
mkdir mine && touch mine/file
expect_exit 1 rivals --quick --venv mine
expect_err 'mine: expected an environment of Python 3.11'
[ -e mine/file ] || fail 'a folder that is not an environment was changed'
STEN_BIN=$T/mine expect_exit 1 rivals --quick --runtime sten
expect_err 'sten-bench is missing: build first, or set STEN_BIN'
