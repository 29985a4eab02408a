# SPDX-License-Identifier: Apache-2.0
# scripts/rivals.sh --model: the tables and the chart of a model in several runtimes. Parts that
# need packages from the network are not tested.
. "$(dirname "$0")/_lib.sh"
cd "$T"
if ! command -v python3 >/dev/null; then
  echo "rivals_models: skipped, python3 is missing"
  exit 77
fi
rivals() { "$STEN_SOURCE/scripts/rivals.sh" --model "$@"; }

expect_exit 0 rivals bert-base --help
for option in --batch --tokens --threads --rounds --runtime --weights --deepsparse-venv --csv; do expect_out "$option"; done
for name in bert 2x100 x 0x64; do expect_exit 2 rivals "$name"; done
expect_exit 2 rivals bert-base --tokens 513
expect_exit 2 rivals bert-base --batch 8
expect_err '--batch needs --tokens'
expect_exit 2 rivals bert-base -o table.txt
expect_err 'has to end in .json, .csv, .md or .svg'

# Ratios are taken within each round. A bfloat16 run is neither the best rival nor the baseline.
export PYTHONPATH=$STEN_SOURCE/scripts/bench/rivals
python3 -B - <<'PYTHON' || fail 'the ratios are wrong'
import json, measure, model_measure, model_plan
setup = {"model": "2x128", "batch": 8, "tokens": 64, "threads": 1}
def record(runtime, ms, precision="float32", off=None):
    r = measure.Record(runtime=runtime, version="9", precision=precision, note="", difference=off, largest=off and 4.0)
    r["ms"] += ms
    return r
ov = record("OpenVINO", [36.0, 12.0, 12.0], off=1e-6)  # the machine was three times slower in the first round
dense = [record("sten", [39.0, 13.0, 13.0]), record("PyTorch", [60.0, 20.0, 20.0], off=1e-6), ov,
         record("OpenVINO", [18.0, 6.0, 6.0], "bfloat16", 0.031), record("PyTorch", [90.0, 30.0, 30.0], "bfloat16", 0.04)]
nmg = model_plan.SPARSE[0]
rows = model_measure.summarize(setup, model_plan.DENSE, dense, ov)
again = record("OpenVINO", [12.0, 24.0, 12.0])
rows += model_measure.summarize(setup, nmg, [record("sten", [6.0, 12.0, 6.0]), record("DeepSparse", [9.0, 18.0, 10.0], off=1e-6)], again)
tiles = next(w for w in model_plan.SPARSE if w.name == "1:4:2:32")
low = record("OpenVINO", [6.0, 6.0, 12.0], "bfloat16")  # is measured again with them
rows += model_measure.summarize(setup, tiles, [record("sten", [6.0, 12.0, 6.0]), record("sten", [2.0, 3.0, 3.0], "bfloat16", 0.02)], again, low)
alone = model_measure.summarize({**setup, "tokens": 16}, model_plan.DENSE, [record("sten", [1.5])], record("sten", [1.5]))
sten = [r for r in rows if r["runtime"] == "sten"]
assert [r["best_rival"] for r in sten] == ["OpenVINO", "DeepSparse", None, "OpenVINO"], sten
assert (sten[3]["ratio"], sten[3]["to_dense"], sten[3]["precision"]) == (3, 6, "bfloat16"), sten
assert sten[0]["ratio"] == 12 / 13 and sten[0]["to_dense"] == 12 / 13 and sten[0]["line"] is None
assert (sten[1]["ratio"], sten[1]["ratio_low"], sten[1]["ratio_high"]) == (1.5, 1.5, 10 / 6) and sten[1]["to_dense"] == 2
assert sten[1]["ms"] == 6 and sten[1]["best_rival_ms"] == 10 and sten[1]["sparsity"] == 0.75
document = {"schema": 1, "machine": {"cpu": "A", "threads": 2}}
for name, models in ("one", rows), ("two", alone), ("other", [{**r, "model": "bert-base"} for r in alone]):
    json.dump({**document, "models": models}, open(f"{name}.json", "w"))
PYTHON
expect_exit 0 rivals 2x128 --merge one.json --merge two.json -o all.md -o all.svg -o all.csv -o all.json
tr -s ' -' ' ' <out >squeezed.txt
for line in '2x128 8x64 1 dense 0 % float32 13.0 OpenVINO 12.0 0.923 0.923 0.923 0.923 OpenVINO 12.0, PyTorch 20.0' \
  '2x128 8x64 1 1:4:4 75 % float32 6.00 DeepSparse 10.0 1.50 1.50 1.67 2.00 DeepSparse 10.0' \
  '2x128 8x64 1 1:4:2:32 75 % bfloat16 3.00 OpenVINO 6.00 3.00 2.00 4.00 6.00' \
  '2x128 8x64 1 OpenVINO 9 bfloat16 6.00 2.00 0.031 4' \
  '2x128 8x64 1 PyTorch 9 float32 20.0 0.600 1e 06 4'; do
  grep -qFx "$line" squeezed.txt || fail "the table lacks '$line'"
done
grep -q '^2x128  8x16  ' out || fail 'the table lacks the model without rivals'
grep -q '^| 2x128 | 8x64 | 1 | 1:4:4 | 75 % | float32 | 6.00 | DeepSparse | 10.0 | 1.50 |' all.md || fail 'all.md lacks the row of 1:4:4'
[ "$(grep -c '^2x128,8,64,1,' all.csv)" = 9 ] || fail 'expected 9 rows of 2x128, 8x64 in all.csv'
expect_exit 0 rivals 2x128 --merge all.json --csv
cmp out all.csv || fail 'the output of --csv differs from all.csv'
python3 - <<'PYTHON' || fail 'the chart is wrong'
import xml.dom.minidom
svg = xml.dom.minidom.parse("all.svg")
text = [t.firstChild.data for t in svg.getElementsByTagName("text")]
tips = [t.firstChild.data for t in svg.getElementsByTagName("title")]
for wanted in ("2x128 8x64, 1 thread", "2x128 8x16, 1 thread", "75 %", "OpenVINO, bfloat16", "sten n:m:g", "sten nmgv, bfloat16",
               "dashed: dense by OpenVINO 9, float32"):
    assert wanted in text, (wanted, text)
assert "ONNX Runtime" not in text  # of which there is nothing
assert tips.count("sten 9, dense: 13.0 ms") == 2 and "DeepSparse 9, 1:4:4: 10.0 ms" in tips, tips
assert "OpenVINO 9, dense in bfloat16: 6.00 ms" in tips, tips
PYTHON
expect_exit 1 rivals 2x128 --merge one.json --merge one.json
expect_err 'one.json: 2x128 8x64, 1 thread is in another file too'
expect_exit 1 rivals 2x128 --merge other.json
expect_err 'other.json: is of another model, bert-base'
echo '{"schema": 1, "machine": {}, "results": []}' >products.json
expect_exit 1 rivals 2x128 --merge products.json
expect_err 'products.json: not results of scripts/rivals.sh'

# The token ids for all runtimes are written in NumPy's format, which sten-run reads.
python3 -B - "$STEN_SOURCE/recipes/models/shakespeare-bert" <<'PYTHON' || fail 'measuring sten on the token ids failed'
import sys, model_measure, model_plan
model_plan.VOCABULARY = 70
model_measure.write_ids("ids.npy", 3, 16)
sten = model_measure.Sten("sten-run", "9", sys.argv[1], model_plan.DENSE, "ids.npy", "y.npy", 1, "float32")
low = model_measure.Sten("sten-run", "9", sys.argv[1], model_plan.DENSE, "ids.npy", "y.npy", 1, "bfloat16")
assert 0 < low.record["difference"] < 0.03 * low.record["largest"], low.record
sten.repeats = 2
sten.measure(lambda: None)
assert sten.took > 0 and sten.record["ms"][0] > 0
assert b"(3, 16, 70)" in open("y.npy", "rb").read(80)
PYTHON

# Missing programs and environments are reported, and nothing is overwritten.
mkdir mine && touch mine/file
expect_exit 1 rivals 2x128 --venv mine
expect_err 'mine: expected an environment of Python 3.11'
[ -e mine/file ] || fail 'a folder that is not an environment was changed'
STEN_BIN=$T/mine expect_exit 1 rivals 2x128
expect_err 'sten-run is missing: build first, or set STEN_BIN'
