# SPDX-License-Identifier: Apache-2.0
# sten-run evaluates a model on data and arrays: metrics, checks and output files.
. "$(dirname "$0")/_lib.sh"
cd "$T"
value() { sed -nE "s/^ *\"$1\": ([^,]*),?$/\1/p" "$T/out" | head -1; } # value KEY: from the JSON output

# sten-run measures the same test loss as the training run reported.
sten-train "$STEN_SOURCE/recipes/digits-mlp-one-shot.json" --out run -q --threads 1 --set sparsity.0.save=csr
loss=$(grep -A12 '"test"' run/summary.json | sed -nE 's/^ *"loss": ([^,]*),?$/\1/p')
expect_exit 0 sten-run run --json
[ "$(value loss | cut -c1-9)" = "$(echo "$loss" | cut -c1-9)" ] || fail "expected loss $loss"
[ "$(value split)" = '"test"' ] || fail 'expected the test split by default'
expect_exit 0 sten-run run --split validation
expect_out 'validation: loss 0.'
expect_exit 0 sten-run run --data "$STEN_SOURCE/recipes/data/digits.csv" --json
[ "$(value count)" = 1797 ] || fail 'expected all 1797 rows of the file'

# A weights-only model works with a recipe from --data or --config, also from a pipe.
expect_exit 0 sten-run run/model.sten.safetensors --data run/recipe.json --json
[ "$(value count)" = 360 ] || fail 'expected 360 rows for a weights-only model'
expect_exit 0 sten-run run/model.sten.safetensors --data "$STEN_SOURCE/recipes/data/digits.csv" --config run/recipe.json
sten-convert run/model.sten.safetensors -o dense.safetensors --to dense -q
sten-prune dense.safetensors -o - --sparsity 0.95 -q | sten-run - --data run/recipe.json --json -q >"$T/out"
[ "$(value model)" = '"standard input"' ] || fail 'a piped model must be called "standard input"'

# A failed check ends with exit code 3 and writes no output except the report.
expect_exit 0 sten-run run --min-accuracy 90% --max-loss 0.5
expect_exit 3 sten-run run --min-accuracy 0.999 -o y.npy --report why.json
expect_err 'below --min-accuracy 0.999'
[ ! -e y.npy ] || fail 'a failed check wrote the output'
grep -q '"ok": false' why.json || fail 'the report does not say that the check failed'
expect_exit 3 sten-run run --max-loss 0.001

# Outputs are written as arrays. Layouts change them only by rounding.
expect_exit 0 sten-run run --split all -o y.npy
expect_out 'wrote y.npy'
expect_exit 0 sten-run run --split all --batch 100 --threads 1 -o batches.npy
cmp y.npy batches.npy || fail 'outputs depend on the batch size or the number of threads'
expect_exit 2 sten-run run --split all -o y.npy
expect_err 'exists (use --force to overwrite)'
expect_exit 0 sten-run run --against run --max-difference 0
expect_exit 0 sten-run run --against run --layouts '*.weight=dense' --max-difference 1e-4 --min-agreement 1
expect_out 'weights: 3 in dense'
expect_exit 0 sten-run run --layouts 'layers.*=masked' --layouts '*.weight=dense' --max-loss 0.5
expect_out 'weights: 3 in masked'
expect_exit 0 sten-run run --layouts auto --max-loss 0.5
sten-prune dense.safetensors -o pruned.safetensors --sparsity 0.99 -q
expect_exit 0 sten-run pruned.safetensors --against run --json
[ "$(value agreement)" != 1 ] || fail 'a model of 99 % sparsity agrees with the original'
expect_exit 3 sten-run pruned.safetensors --against run --min-agreement 0.999
expect_err 'below --min-agreement'

# Latency statistics and the execution plan.
expect_exit 0 sten-run run --repeats 5 --json
for key in runs min p50 p90 p99; do [ -n "$(value $key)" ] || fail "latency/$key is missing"; done
expect_exit 0 sten-run run --explain --json
expect_out '"layout": "csr'
expect_out '"why": '

# A masked language model: optional inputs may be left out, and --fill predicts masked tokens.
bert=$STEN_SOURCE/recipes/models/shakespeare-bert
header="{'descr': '<i8', 'fortran_order': False, 'shape': (2, 4), }"
header=$(printf '%-117s' "$header")
{
  printf '\223NUMPY\001\000v\000%s\n' "$header"
  for id in 10 11 12 13 14 15 16 17; do printf "\\x$(printf %x $id)\\0\\0\\0\\0\\0\\0\\0"; done
} >ids.npy
expect_exit 0 sten-run "$bert" --input ids.npy -o logits.npy
expect_out 'position_ids was not given'
expect_exit 0 sten-run "$bert" --input input_ids=ids.npy -o one.npy --batch 1
cmp logits.npy one.npy || fail 'the outputs depend on the batch size'
sten-run "$bert" --input - -o - <ids.npy >piped.npy 2>"$T/err" || fail 'arrays cannot be piped'
cmp logits.npy piped.npy || fail 'the piped output differs from logits.npy'
expect_exit 0 sten-run "$bert" --input ids.npy -o all.safetensors
expect_exit 0 sten-energy --list all.safetensors
expect_out 'cls.predictions.decoder'
expect_exit 0 sten-run "$bert" --fill 'To be, or n[MASK]t to be'
expect_out 'To be, or not to be'
expect_exit 2 sten-run "$bert" --fill "$(printf 'a%.0s' $(seq 130))[MASK]"
expect_err '131 tokens exceed the 128 positions of '
expect_one_line_err
sten-prune "$bert" -o sparse --sparsity 0.5 -q
expect_exit 0 sten-run sparse --fill 'To be, or n[MASK]t to be' --layouts '*.query.weight=masked' --layouts auto
expect_out '4 in masked'
expect_out 'To be, or n'

# An attention mask from a .npy or a .safetensors file has the same effect.
{
  printf '\223NUMPY\001\000v\000%s\n' "$header"
  for one in 1 1 1 0 1 1 0 0; do printf "\\x$one\\0\\0\\0\\0\\0\\0\\0"; done
} >mask.npy
expect_exit 0 sten-run "$bert" --input ids.npy --input attention_mask=mask.npy -o masked.npy
cmp -s logits.npy masked.npy && fail 'the mask has no effect'
. "$STEN_SOURCE/tests/cli/_safetensors.sh"
safetensors inputs.safetensors "{$(entry input_ids I64 2,4 0 64),$(entry attention_mask I64 2,4 64 128)}" ''
for array in ids mask; do tail -c 64 $array.npy; done >>inputs.safetensors
expect_exit 0 sten-run "$bert" --input inputs.safetensors -o masked2.npy
cmp masked.npy masked2.npy || fail 'masks from .npy and .safetensors files give different outputs'
expect_exit 2 sten-run "$bert" --input ids.npy --input mask.npy
expect_err '(name the input: NAME=ids.npy)'

# The same model in ONNX format has the same input names.
onnx=$STEN_SOURCE/tests/trainer/bert.onnx
printf '\223NUMPY\001\000v\000%s\n' "$header" >few.npy
for id in 1 2 3 4 5 6 7 8; do printf "\\x$(printf %x $id)\\0\\0\\0\\0\\0\\0\\0"; done >>few.npy
expect_exit 0 sten-run "$onnx" --input input_ids=few.npy --repeats 3
expect_out 'rows a second'

# Weights of an ONNX model can be stored in a layout that ONNX does not support.
sten-prune "$onnx" -o pruned.onnx --structure 2:4@0 -q
sten-prune "$onnx" -o small.safetensors --structure 2:4@0 --to nm -q
expect_exit 0 sten-run small.safetensors --config "$onnx" --input input_ids=few.npy --against pruned.onnx \
  --max-difference 1e-5 --layouts '*.bias=dense'
expect_out 'in nm:n=2,m=4'

# An output that only one of two models has is not compared, and this is reported.
. "$STEN_SOURCE/tests/cli/_onnx.sh"
port() { # port FIELD NAME: a FLOAT input or output of shape [1, 2]
  message "$1" "$(text 1 "$2")$(message 2 "$(message 1 "$(number 1 1)$(message 2 "$(message 1 "$(number 1 1)")$(message 1 "$(number 1 2)")")")")"
}
layer="$(node MatMul product x w y)$(node Add sum y y z)$(tensor w 2 2 "$(message 9 "$(floats 1 2 3 4)")")$(port 11 x)"
model "$layer$(port 12 y)" >one.onnx
model "$layer$(port 12 y)$(port 12 z)" >two.onnx
printf '\223NUMPY\001\000v\000%-117s\n\0\0\200\77\0\0\200\77' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }" >x.npy
# A model with a fixed batch size uses all of its rows, for labels and for the time per row.
rows3() { # like port, of shape [3, 2]
  message "$1" "$(text 1 "$2")$(message 2 "$(message 1 "$(number 1 1)$(message 2 "$(message 1 "$(number 1 3)")$(message 1 "$(number 1 2)")")")")"
}
model "$(node MatMul product x w y)$(tensor w 2 2 "$(message 9 "$(floats 1 2 3 4)")")$(rows3 11 x)$(rows3 12 y)" >fixed.onnx
{
  printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"
  for _ in 1 2 3 4 5 6; do printf '\0\0\200\77'; done
} >x3.npy
{
  printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }"
  for _ in 1 2 3; do printf '\1\0\0\0\0\0\0\0'; done
} >labels3.npy
expect_exit 0 sten-run fixed.onnx --input x3.npy --labels labels3.npy --min-accuracy 1 --repeats 2 --json
[ "$(value rows)" = 3 ] || fail 'expected 3 rows for a model with a fixed batch size'
[ "$(value count)" = 3 ] || fail 'expected 3 labels for a model with a fixed batch size'
expect_exit 2 sten-run fixed.onnx --input x3.npy --batch 2
expect_err 'fixed.onnx has inputs of a fixed size, with 3 rows'

expect_exit 0 sten-run two.onnx --input x.npy --against one.onnx --max-difference 0
expect_out "not compared, since two.onnx alone has it: 'z'"
expect_exit 0 sten-run one.onnx --input x.npy --against two.onnx --max-difference 0
expect_out "not compared, since two.onnx alone has it: 'z'"
expect_exit 0 sten-run two.onnx --input x.npy --against two.onnx --max-difference 0
if grep -q 'not compared' "$T/out"; then fail 'outputs of both models are not compared'; fi
