# SPDX-License-Identifier: Apache-2.0
# scripts/rivals.sh: the tables and the chart of products in several runtimes, in float32 and
# bfloat16. Parts that need packages from the network are not tested.
. "$(dirname "$0")/_lib.sh"
cd "$T"
if ! command -v python3 >/dev/null; then
  echo "rivals_products: skipped, python3 is missing"
  exit 77
fi
export PYTHONPATH=$STEN_SOURCE/scripts/bench/rivals
python3 -B - <<'PYTHON' || fail 'the ratios are wrong'
import json, measure, plan, results
setup = {"form": "linear", "shape": (96, 192, 256), "threads": 1, "sparsities": [0.75], "version": "9", "precisions": ["bfloat16"]}
sten = measure.Sten("sten-bench", setup)
assert any(layout.startswith("nmgv:") for layout in sten.lines), sten.lines
assert not any(layout.startswith("nmgv:") for layout in measure.Sten("", {**setup, "precisions": []}).lines)
tiles = next(layout for layout in sten.lines if layout.startswith("nmgv:"))
def said(layout, library, precision, ms, error):
    return {"layout": layout, "library": library, "precision": precision, "isa": "amx", "ms": float(ms), "error": error}
for slower in (1, 3, 1):  # the machine was three times slower in the second round
    sten.add({"results": [
        said("dense", "oneDNN 2", "float32", 12 * slower, 1e-7), said("dense", "oneDNN 2", "bf16", 3 * slower, 2e-3),
        said("dense", None, "bf16", 2 * slower, 2e-3), said(tiles, None, "float32", 6 * slower, 1e-7),
        said(tiles, None, "bf16", 1 * slower, 3e-3)]})
rows = results.summarize(setup, list(sten.records.values()))
of = {(r["runtime"], r["layout"], r["precision"]): r for r in rows}
best = of["sten", tiles, "bfloat16"]
assert (best["ratio"], best["to_bfloat16"], best["line"]) == (12, 2, plan.STEN_TILES), best
assert of["sten", tiles, "float32"]["line"] is None and of["oneDNN", "dense", "bfloat16"]["ratio"] == 4
document = {"schema": 1, "machine": {"cpu": "A", "threads": 2}, "results": rows}
json.dump(document, open("new.json", "w"))
old = [{k: v for k, v in r.items() if k not in ("precision", "error", "to_bfloat16")} for r in rows if r["precision"] == "float32"]
json.dump({**document, "results": [{**r, "form": "gemm"} for r in old]}, open("old.json", "w"))
PYTHON
expect_exit 0 "$STEN_SOURCE/scripts/rivals.sh" --merge new.json --merge old.json -o all.md -o all.svg -o all.csv
expect_out 'fastest of linear 96x192x256, 1 thread: nmgv:n=1,m=4,g=2,v=32 in bfloat16 by sten 9, 1.00 ms; of dense ones dense in bfloat16 by sten 9, 2.00 ms'
expect_out 'to bfloat16: to the fastest dense product in bfloat16'
grep -q '^linear,96x192x256,1,0,oneDNN,2,dense,bfloat16,amx,,3.0,0.002,4.0,4.0,4.0,' all.csv || fail 'all.csv lacks the row of oneDNN in bfloat16'
grep -q '^gemm,96x192x256,1,0,oneDNN,2,dense,float32,' all.csv || fail 'all.csv lacks results from a file without precisions'
grep -qF 'in bfloat16 (sten 9): 2.00 ms' all.md || fail 'all.md lacks the time of the dense product in bfloat16'
grep -qF 'sten nmgv, bfloat16' all.svg || fail 'all.svg lacks the line of sten nmgv in bfloat16'
