# SPDX-License-Identifier: Apache-2.0
# Invalid recipes and data: one line that names file and cause, and nothing written.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_recipe.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

refused() { # CODE TEXT FLAG...
  expect_exit "$1" train run "${@:3}"
  expect_one_line_err
  expect_err "$2"
  [ ! -e run ] || fail "'${*:3}' left a directory"
}
expect_exit 1 sten-train missing.json --out run
expect_err 'missing.json'
refused 2 'optimizer' --set optimizer.rat=1
refused 2 'did you mean' --set sparsity.0.target=layer.0.weight
refused 1 'rows have 64 features, but the model expects 63' --set 'model.sizes=[63, 10]'
refused 1 'label 9 is out of range: the model has 9 classes' --set 'model.sizes=[64, 9]' --set sparsity=null
refused 1 'nowhere.csv' --set data.file=nowhere.csv

# Case 69: ragged and non-numeric rows.
printf '1,2,0\n1,2\n' >ragged.csv
printf '1,2,0\n1,x,1\n' >word.csv
refused 1 'ragged.csv: line 2' --set data.file=ragged.csv
refused 1 'word.csv: line 2' --set data.file=word.csv
# Cases 66 to 68: arrays.
arrays() { refused 1 "$1" --set "data={\"kind\": \"arrays\", \"features\": \"$2\", \"labels\": \"$2\"}"; }
printf '\0\0\10\7abc' >rank.idx
arrays 'rank.idx' rank.idx
printf '\0\0\10\1\0\0\0\3ab' >short.idx
arrays 'short.idx' short.idx
printf '\223NUMPY\1\0\166\0%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }" >huge.npy
arrays 'huge.npy: ' huge.npy
printf '\223NUMPY\1\0\166\0%-117s\n' "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }" >object.npy
arrays 'object.npy: ' object.npy
# Case 65: a checkpoint of another model; one message reports all tensors that do not fit.
safetensors other.safetensors "{$(entry layers.0.weight F32 2,2 0 16),$(entry more F32 1 16 20)}" "$F1$F2$F3$F4$F4"
expect_exit 1 train run --set model.weights=other.safetensors
expect_err 'layers.0.weight is [2, 2], expected [48, 64]'
expect_err '7 tensors do not fit the model: '
expect_err 'layers.1.weight is missing; layers.1.bias is missing; and 3 more'
[ ! -e run ] || fail 'a directory was left'

# A loss that becomes NaN or infinite: the error names the step, and earlier checkpoints are kept.
expect_exit 1 train wild --set optimizer.kind=sgd --set 'rate={"kind": "piecewise", "points": [[25, 1e30]]}' \
  --set clip=0
expect_one_line_err
expect_err 'step 2'
[ "$(ls wild/checkpoints | tail -1)" = step-000020 ] || fail "expected step-000020 as the last checkpoint, got: $(ls wild/checkpoints)"
# A layout that cannot store the trained weight, one full row of 16: the last checkpoint is kept.
safetensors row.safetensors "{$(entry layers.0.weight F32 8,16 0 512),$(entry layers.0.bias F32 8 512 544),$(entry layers.1.weight F32 2,8 544 608),$(entry layers.1.bias F32 2 608 616)}" \
  "$(repeat 16 "$F1")$(repeat 112 "$F0")$(repeat 26 "$F1")"
for i in $(seq 20); do printf '0,1,2,3,4,5,6,7,0,1,2,3,4,5,%d,1,%d\n' $i $((i % 2)); done >row.csv
cat >row.json <<'EOT'
{"schema": 1, "model": {"kind": "mlp", "sizes": [16, 8, 2], "weights": "row.safetensors"},
 "data": {"kind": "csv", "file": "row.csv"}, "steps": 2,
 "sparsity": [{"target": "layers.0.weight", "sparsifier": "magnitude:sparsity=0.875", "save": "ell"}]}
EOT
expect_exit 1 sten-train row.json --out row -q
expect_one_line_err
expect_err "'layers.0.weight': ell: 8 rows would be padded to 16 entries"
expect_err ' (the trained checkpoint is in row/checkpoints/step-000002'
[ -s row/checkpoints/step-000002/model.safetensors ] ||
  fail 'the checkpoint with the trained weights is missing'
# A damaged checkpoint is reported, not skipped.
train good >/dev/null
printf x >good/checkpoints/step-000160/state.safetensors
expect_exit 1 train good --resume
expect_one_line_err
expect_err 'step-000160/state.safetensors'
