# SPDX-License-Identifier: Apache-2.0
# Pruning in stages with the built-in trainer: runs, saved state, result, and rejected options.
. "$(dirname "$0")/_lib.sh"
cd "$T"
mkdir elsewhere
cat >elsewhere/digits.json <<EOF
{"schema": 1,
 "model": {"kind": "mlp", "sizes": [64, 24, 10]},
 "data": {"kind": "csv", "file": "$STEN_SOURCE/recipes/data/digits.csv", "train": 0.7, "validation": 0.15,
          "scale": 0.125, "shift": -1},
 "optimizer": {"kind": "adamw", "rate": 0.005},
 "epochs": 8, "batch": 64, "seed": 3}
EOF
RECIPE=elsewhere/digits.json
sten-train $RECIPE --out run -q >/dev/null
DENSE=run/model.safetensors
stages() { sten-prune "$DENSE" --threads 2 --recipe $RECIPE --set epochs=3 "$@"; }
ITERATIVE=iterative:from=0.5,to=0.9,step=0.2

expect_exit 0 stages -o out.safetensors --schedule $ITERATIVE --state first
cp "$T/out" table
expect_out "sparsity 89.98 % over 2 tensors after 3 of 3 stages"
expect_out "loss on the input: 0."
ls first/stage-001 | tr '\n' ' ' >"$T/out"
expect_out "mask.safetensors model.safetensors stage.json "
# Training lowers the loss of every stage, and no pruned position has to be set to 0 again.
awk '$1 ~ /^[0-9]+$/ { n++; bad += !($6 < $5) || $8 != 0 } END { exit n != 3 || bad }' table ||
  fail "expected a lower loss after training and no re-pruned positions in 3 stages: $(cat table)"
expect_exit 0 sten-energy out.safetensors --min-sparsity 0.899

# Equal runs write the same bytes, resumed or not; finished stages do not run again.
expect_exit 0 stages -o again.safetensors --schedule $ITERATIVE --state again
cmp out.safetensors again.safetensors || fail "two equal runs write different bytes"
rm -r again/stage-003
touch -d 2001-01-01 again/stage-002/model.safetensors
expect_exit 0 stages -o resumed.safetensors --schedule $ITERATIVE --state again --resume
cmp out.safetensors resumed.safetensors || fail "the resumed run differs from the uninterrupted one"
[ "$(date -r again/stage-002/model.safetensors +%Y)" = 2001 ] || fail "a finished stage ran again"
expect_exit 0 stages -o small.safetensors --schedule $ITERATIVE --state again --resume --to bitmask
expect_exit 2 stages -o x2.safetensors --schedule $ITERATIVE --state again --resume --set optimizer.rate=0.01
expect_err "contains a different run: recipe/optimizer/rate was '0.005', now is '0.01'"
# The output contains no paths of the run.
grep -qa elsewhere out.safetensors && fail "the output contains a path of the run"

# A model that does not fit the recipe is rejected in one line, before any state is saved.
for more in "" --dry-run; do
  expect_exit 1 sten-prune "$MODEL" -o x3.safetensors --recipe $RECIPE --schedule $ITERATIVE --state other $more
  expect_one_line_err
  expect_err "sten-prune: $MODEL: 78 tensors do not fit the model: layers.0.weight is missing; "
  [ ! -e other ] || fail "a rejected run created its state directory"
done

# scale=0.5 shortens a run as half the steps would, including the warm-up.
short() { expect_exit 0 sten-prune "$DENSE" -o "$1.safetensors" --threads 2 --recipe $RECIPE --schedule iterative:from=0.5,to=0.5,step=0.2 --state "$1" "${@:2}"; }
short scaled --set epochs=3 --set scale=0.5 --set 'rate={"kind": "cosine", "warmup": 10}'
short counted --set epochs=null --set steps=30 --set 'rate={"kind": "cosine", "warmup": 5}'
expect_exit 0 sten-energy scaled.safetensors counted.safetensors --diff
# It also scales the points of a piecewise rate if the recipe counts in steps.
points() { echo "rate={\"kind\": \"piecewise\", \"warmup\": $1, \"points\": [[$2, 0.5], [$3, 0.1]]}"; }
short scaled-points --set epochs=null --set steps=60 --set scale=0.5 --set "$(points 8 20 40)"
short counted-points --set epochs=null --set steps=30 --set "$(points 4 10 20)"
expect_exit 0 sten-energy scaled-points.safetensors counted-points.safetensors --diff
# All settings beyond the last step are reported in one line, before any state is saved.
for how in "" --dry-run; do
  expect_exit 2 sten-prune "$DENSE" -o x4.safetensors --recipe $RECIPE --schedule $ITERATIVE --state unfit $how \
    --set epochs=null --set steps=5 --set 'rate={"kind": "cosine", "warmup": 10}' \
    --set 'formats=[{"of": "intermediate", "target": "layers.0.relu", "layout": "csr", "begin": 6, "end": 9}]'
  expect_one_line_err
  expect_err "/rate/warmup: 10 steps are more than the 5 steps of the run; /formats/0/begin: step 6 is after the last of 5 steps; \
/formats/0/end: step 9 is after the last of 5 steps (the key scale multiplies all steps)"
  [ ! -e unfit ] || fail 'a rejected run created its state directory'
done

# Layer-wise, with a loss that recovers and with one that cannot.
expect_exit 0 stages -o layers.safetensors --sparsity 0.6 --schedule layer-wise --tolerance 0.5 --state layers
expect_out "after 2 of 2 stages"
expect_exit 0 stages -o stuck.safetensors --sparsity 0.98 --schedule layerwise --tolerance 0 --state stuck --patience 1 --set optimizer.rate=1e-30
expect_out "stopped at 'layers.0.weight': no lower loss in 1 rounds"
expect_out "after 1 of 2 stages"

# n:m:g: one structure per stage, and the output in the layout of the last one.
expect_exit 0 stages -o nmg.safetensors --schedule iterative --structure nmg:n=2,m=4,g=2 --structure nmg:n=1,m=4,g=2 --state nmg --to nmg
expect_out "nmg:n=1,m=4,g=2   75.45 %"

# The output for a Hugging Face model directory has all of its files.
cp -r "$STEN_SOURCE/recipes/models/shakespeare-bert" bert
cat >bert.json <<EOF
{"schema": 1,
 "model": {"kind": "bert", "config": "bert/config.json"},
 "data": {"kind": "masked-text", "text": "text", "vocabulary": "bert/vocab.json", "window": 32, "train": 0.8, "validation": 0.1},
 "steps": 2, "batch": 4}
EOF
head -c 20000 "$STEN_SOURCE/recipes/data/tinyshakespeare.txt" >text
expect_exit 0 sten-prune bert -o pruned --include 'bert.encoder.layer.0.*.weight' --exclude '*Norm*' --recipe bert.json \
  --schedule linear:from=0,to=0.5,stages=2 --state bert.stages -q
[ "$(ls pruned)" = "$(ls bert)" ] || fail "expected the files of the input, got $(ls pruned)"
expect_exit 0 sten-energy pruned --include 'bert.encoder.layer.0.*.weight' --exclude '*Norm*' --min-sparsity 0.499

# A BF16 checkpoint stays BF16, and the loss of a stage is that of its saved, rounded weights.
python3 "$STEN_SOURCE/tests/cli/_bf16.py" "$DENSE" bf16.safetensors
low() { expect_exit 0 sten-prune "$1" -o "$2.safetensors" --threads 2 --recipe $RECIPE --set epochs=1 --schedule "$3" --state "$2"; }
low bf16.safetensors low iterative:from=0.5,to=0.7,step=0.2
grep -q '"BF16"' low.safetensors && ! grep -q '"F32"' low.safetensors || fail 'expected only BF16 tensors in the checkpoint'
low low.safetensors low-again iterative:from=0.7,to=0.7,step=0.2
loss() { grep '"loss":' "$1/stage.json"; }
[ "$(loss low/stage-002)" = "$(loss low-again/stage-000)" ] || fail "expected the loss of the saved weights, $(loss low-again/stage-000), got $(loss low/stage-002)"

# Invalid combinations of options are rejected.
refused() {
  expect_exit 2 sten-prune "$DENSE" -o x3.safetensors --schedule $ITERATIVE --state x "${@:2}"
  expect_one_line_err
  expect_err "$1"
}
refused "needs --finetune 'COMMAND' or --recipe RECIPE.json"
refused "--finetune and --recipe exclude each other" --recipe $RECIPE --finetune 'train {in} {out}'
refused "--set belongs to --recipe" --finetune 'train {in} {out}' --set steps=3
refused "--finetune-timeout belongs to --finetune" --recipe $RECIPE --finetune-timeout 3
refused "/sparsity: must be empty with --schedule" --recipe $RECIPE \
  --set 'sparsity=[{"target": "layers.0.weight", "sparsifier": "magnitude:sparsity=0.5"}]'
refused "/data/validation: expected rows for the losses of the stages, got none" --recipe $RECIPE --set data.validation=0
refused "did you mean" --recipe $RECIPE --set optimizer.rat=3
expect_exit 2 sten-prune "$DENSE" -o x3.safetensors --sparsity 0.5 --recipe $RECIPE
expect_err "--recipe belongs to --schedule"
# A model with other shapes than the recipe's is rejected.
expect_exit 1 sten-prune "$DENSE" -o x3.safetensors --schedule $ITERATIVE --state x --recipe $RECIPE --set 'model.sizes=[64, 25, 10]'
expect_err "layers.0.weight is [24, 64], expected [25, 64]"
[ ! -e x3.safetensors ] || fail "a rejected run left an output"
