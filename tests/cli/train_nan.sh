# SPDX-License-Identifier: Apache-2.0
# NaN or infinite losses at an evaluation are recorded; the run ends normally and can be resumed.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_recipe.sh"
cd "$T"
# Rows of 4 features; one row outside the training split gets values that overflow.
cat >wild.json <<'EOT'
{"schema": 1,
 "model": {"kind": "mlp", "sizes": [4, 8, 2]},
 "data": {"kind": "csv", "file": "wild.csv", "train": 0.5, "validation": 0.25, "scale": 4},
 "optimizer": {"kind": "adamw", "rate": 0.01},
 "steps": 20, "batch": 4,
 "evaluation": {"every": 5, "keep_best": true, "test": true},
 "checkpoints": {"every": 5}, "logging": {"every": 5}}
EOT
for i in $(seq 40); do echo "$((i % 3)),$((i % 5)),1,0,$((i % 2))"; done >wild.csv
RECIPE=wild.json
expect_exit 0 train tame
# The split depends only on the recipe. Find a row whose large values leave training intact but give
# an evaluation with an infinite or NaN loss.
for i in $(seq 40); do
  sed "${i}s/^[0-9]*/3e38/;${i}s/,[0-9]*/,-3e38/" wild.csv >try.csv
  status=0
  train wild --force --set data.file=try.csv >"$T/out" 2>"$T/err" || status=$?
  if [ $status = 0 ] && grep -q '"loss":"' wild/metrics.jsonl; then break; fi
  [ $i != 40 ] || fail 'no row is in the validation split'
done
grep -qE '"split":"validation","loss":"(NaN|Infinity)"' wild/metrics.jsonl || fail "expected a NaN or infinite validation loss, got: $(cat wild/metrics.jsonl)"
grep -qE '"loss": "(NaN|Infinity)"' wild/checkpoints/step-000020/state.json || fail 'the state lacks the loss'
grep -qF '<svg' wild/curve.svg || fail 'curve.svg is not SVG'
cp wild/model.safetensors wanted
expect_exit 0 train wild --resume --set data.file=try.csv
cmp wild/model.safetensors wanted || fail 'resuming a finished run changes the model'
rm -r wild/checkpoints/step-000020
QUIET='' expect_exit 0 train wild --resume --set data.file=try.csv
held 83 expect_out 'validation: loss '
cmp wild/model.safetensors wanted || fail 'the resumed run gives a different model'
