# SPDX-License-Identifier: Apache-2.0
# ONNX models as exporters write them: TopK with a constant k, dimensions that are all named "?",
# batch norm and dropout exported in training mode, and random numbers.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_onnx.sh"
cd "$T"

# dims SYMBOL-OR-NUMBER...
dims() {
  local d
  for d in "$@"; do
    case $d in
      [0-9]*) message 1 "$(number 1 "$d")" ;;
      *) message 1 "$(text 2 "$d")" ;;
    esac
  done
}
port() { message "$1" "$(text 1 "$2")$(message 2 "$(message 1 "$(number 1 1)$(message 2 "$3")")")"; } # port FIELD NAME DIMS
integer() { message 5 "$(text 1 "$1")$(number 3 "$2")$(number 20 2)"; }                              # integer NAME N
vector() { message 5 "$(number 1 2)$(number 2 1)$(text 8 "$1")$(message 9 "$2")"; }                  # vector NAME ELEMENTS

# x has the shape [2, 3] and the elements 1 to 6.
{
  header="{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
  printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header"
  bytes_of "$(floats 1 2 3 4 5 6)"
} >x.npy

# TopK returns the two largest elements of each row.
k=$(message 5 "$(number 1 1)$(number 2 7)$(text 8 k)$(message 7 02)")
top=$(message 1 "$(text 1 x)$(text 1 k)$(text 2 y)$(text 2 i)$(text 4 TopK)")
model "$top$k$(port 11 x "$(dims ? ?)")$(port 12 y "$(dims ? ?)")$(port 12 i '')" >top.onnx
expect_exit 0 sten-run top.onnx --input x.npy -o y=y.npy -o i=i.npy
tail -c 16 y.npy | cmp - <(bytes_of "$(floats 3 2 6 5)") || fail 'y has the wrong elements'

# Dimensions named "?" or "" may differ; dimensions that share another name must be equal.
relu=$(message 1 "$(text 1 x)$(text 2 y)$(text 4 Relu)")
for symbol in '?' ''; do
  model "$relu$(port 11 x "$(dims "$symbol" "$symbol")")$(port 12 y "$(dims "$symbol" "$symbol")")" >open.onnx
  expect_exit 0 sten-run open.onnx --input x.npy -o y.npy -f
done
model "$relu$(port 11 x "$(dims n n)")$(port 12 y "$(dims n n)")" >square.onnx
expect_exit 1 sten-run square.onnx --input x.npy -o y.npy -f

# A batch norm exported in training mode is trained with the batch statistics, unless the recipe
# freezes it. In every other case the running statistics are used.
names=
for name in gamma beta mean variance; do names+=$(text 1 $name); done
norm() { message 1 "$(text 1 x)$names$(text 2 h)$(text 3 norm)$(text 4 BatchNormalization)$1"; }
rest=$(node MatMul out h w y)
for name in gamma beta mean variance; do rest+=$(vector $name "$(floats 1 2)"); done
rest+=$(tensor w 2 2 "$(message 9 "$(floats 1 2 3 4)")")$(port 11 x "$(dims batch 2)")$(port 12 y "$(dims batch 2)")
model "$(norm "$(integer training_mode 1)")$rest" >training.onnx
model "$(norm '')$rest" >inference.onnx
for i in 1 2 3 4 5 6 7 8 9; do echo "$((i % 3)),$((i % 5)),$((i % 2))"; done >rows.csv
cat >recipe.json <<'EOF'
{"schema": 1, "model": {"kind": "onnx", "file": "training.onnx"}, "steps": 1, "batch": 2, "optimizer": {"rate": 0.01},
 "data": {"kind": "csv", "file": "rows.csv", "train": 0.5, "validation": 0.25}}
EOF
run() { # run MODEL: prints the bytes of y for x2.npy
  # In a command substitution, expect_exit would end only the subshell.
  sten-run "$1" --input x2.npy -o y=y.npy -f >/dev/null 2>&1 || echo "sten-run $1 failed"
  tail -c 24 y.npy | od -An -tx1
}
{
  header="{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"
  printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header"
  bytes_of "$(floats 1 2 3 4 5 6)"
} >x2.npy
[ "$(run training.onnx)" = "$(run inference.onnx)" ] ||
  fail 'sten-run used the batch statistics of a model exported in training mode'

expect_exit 0 sten-train recipe.json --dry-run
grep -q frozen out && fail 'the batch norm of a model exported in training mode is frozen'
for kind in '' train frozen; do
  for model in training inference; do
    expect_exit 0 sten-train recipe.json --set model.file=$model.onnx ${kind:+--set model.batch_norm=$kind} \
      --set optimizer.rate=1e-30 --out "run-$model-$kind"
  done
done
# The learning rate is too small to change parameters, so the outputs of sten-run differ only if the
# running statistics changed.
for moved in training- training-train inference-train; do
  [ "$(run run-$moved/model.onnx)" != "$(run inference.onnx)" ] ||
    fail "$moved: the running statistics did not change"
  [ "$(run run-$moved/model.onnx)" = "$(run run-training-/model.onnx)" ] ||
    fail "$moved: the running statistics differ from those of run-training-"
done
for kept in training-frozen inference- inference-frozen; do
  [ "$(run run-$kept/model.onnx)" = "$(run inference.onnx)" ] ||
    fail "$kept: the running statistics changed"
done
held 132 expect_exit 2 sten-train recipe.json --set model.batch_norm=batch --dry-run
expect_err "batch_norm: unknown value 'batch' (expected one of train, frozen)"

# Two batch norms cannot share running statistics in training.
model "$(norm '')$(message 1 "$(text 1 h)$names$(text 2 z)$(text 3 twice)$(text 4 BatchNormalization)")$(node MatMul out z w y)${rest#"$(node MatMul out h w y)"}" >shared.onnx
expect_exit 0 sten-train recipe.json --set model.file=shared.onnx --dry-run
expect_exit 2 sten-train recipe.json --set model.file=shared.onnx --set model.batch_norm=train --dry-run
expect_err "shared.onnx: model.batch_norm train: statistics of 'twice.moments': 'mean' has other statistics already"
expect_one_line_err

# A dropout exported in training mode drops elements in training, but not in sten-run.
drop=$(message 1 "$(text 1 x)$(text 1 ratio)$(text 1 flag)$(text 2 h)$(text 3 drop)$(text 4 Dropout)")
rest=$(node MatMul out h w y)
rest+=$(message 5 "$(number 2 1)$(text 8 ratio)$(message 9 0000003f)")
rest+=$(tensor w 2 2 "$(message 9 "$(floats 1 2 3 4)")")$(port 11 x "$(dims batch 2)")$(port 12 y "$(dims batch 2)")
for flag in 00 01; do
  model "$drop$rest$(message 5 "$(number 2 9)$(text 8 flag)$(message 9 $flag)")" >drop$flag.onnx
  expect_exit 0 sten-train recipe.json --set model.file=drop$flag.onnx --set 'logging={"every":1}' --out drop$flag
  grep -o '"loss": *[^,}]*' drop$flag/metrics.jsonl | head -n 1 >loss$flag
done
[ -s loss01 ] && ! cmp -s loss00 loss01 || fail 'the dropout drops no elements in training'
[ "$(run drop01.onnx)" = "$(run drop00.onnx)" ] || fail 'sten-run drops elements'

# Models that cannot be trained: operators without a gradient, and running statistics that are not
# weights of the file.
layers=$(tensor w 2 2 "$(message 9 "$(floats 1 2 3 4)")")$(tensor v 2 2 "$(message 9 "$(floats 4 3 2 1)")")
layers+=$(port 11 x "$(dims batch 2)")$(port 12 y "$(dims batch 2)")
hard=$(message 1 "$(text 1 h)$(text 2 k)$(text 3 hard)$(text 4 Hardmax)")
model "$(node MatMul first x w h)$hard$(node MatMul out k v y)$layers" >hard.onnx
held 143 expect_exit 2 sten-train recipe.json --set model.file=hard.onnx --out hard
expect_err 'hardmax: missing gradient of an operator between a parameter and the loss'
expect_one_line_err
rest=$(node MatMul out h w y)$layers
for name in gamma beta variance; do rest+=$(vector $name "$(floats 1 2)"); done
model "$(norm '')$rest" >missing.onnx
held 144 expect_exit 1 sten-train recipe.json --set model.file=missing.onnx --out missing
expect_err "missing.onnx: node 'norm': unknown input 'mean'"
expect_one_line_err
model "$(message 1 "$(text 1 x)$(text 2 mean)$(text 4 Relu)")$(norm '')$rest" >computed.onnx
held 144 expect_exit 2 sten-train recipe.json --set model.file=computed.onnx --set model.batch_norm=train --out computed
expect_err "running statistics 'mean': expected a weight"
expect_one_line_err

# Random numbers for anything but dropout or stochastic depth are rejected.
random=$(message 1 "$(text 1 x)$(text 2 r)$(text 3 random)$(text 4 RandomUniformLike)")
sum=$(message 1 "$(text 1 x)$(text 1 r)$(text 2 h)$(text 3 sum)$(text 4 Add)")
model "$random$sum$(node MatMul out h w y)$layers" >random.onnx
for run in 'sten-train recipe.json --set model.file=random.onnx --out random' 'sten-run random.onnx --input x2.npy -o y.npy -f'; do
  held 145 expect_exit 1 $run
  expect_err "random.onnx: random numbers 'r': only stochastic depth may use them"
  expect_one_line_err
done
