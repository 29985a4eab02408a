# SPDX-License-Identifier: Apache-2.0
# sten-bench model: latency of a BERT encoder and its operators, dense and with weights in layouts.
. "$(dirname "$0")/_lib.sh"
cd "$T"

model=$STEN_SOURCE/recipes/models/shakespeare-bert
expect_exit 0 sten-bench model --precision float32 --config "$model/config.json" --weights "$MODEL" --batch 1 --window 16 \
  --layouts nmg:n=1,m=4,g=4,sparsity=0.75 --layouts csr:sparsity=0.5 --repeats 2 --json
[ "$(grep -c '"form": "forward"' out)" = 3 ] || fail 'expected 3 forward passes'
for op in add attention embedding gelu layer-norm linear; do
  [ "$(grep -c "\"form\": \"$op\"" out)" = 3 ] || fail "expected 3 rows of $op, one per layout"
done
[ "$(grep -c '"ratio": [0-9]' out)" = 21 ] || fail 'expected 21 rows with a ratio'
expect_exit 0 sten-bench model --precision float32 --shape 1x32x40 --batch 1 --window 8 --layouts dense --repeats 1
expect_out ' 1x32x1x8 '
sed 's/"hidden_size": [0-9]*/"hidden_size": 32000000/' "$model/config.json" >vast.json
expect_exit 1 sten-bench model --config vast.json
expect_one_line_err
expect_err 'GB available'
expect_exit 1 sten-bench model --config "$model/config.json" --weights missing.safetensors
expect_err 'missing.safetensors'

# Weights stored sparse are measured in their stored layout, and in dense form as the reference.
small='--batch 1 --window 8 --repeats 1'
layouts_of() { grep '"layout"' out | sort | uniq -c | tr -s ' \n' ' '; }
expect_exit 0 sten-prune "$model" -o pruned --structure 1:4:4 --to nmg -q
expect_exit 0 sten-bench model --precision float32 --weights pruned $small --json -o stored.json
[ "$(layouts_of)" = ' 7 "layout": "dense", 7 "layout": "stored", ' ] ||
  fail "expected 7 rows each of dense and stored, got $(layouts_of)"
tr -d '\n' <out | grep -qE '"stored": *\{ *"nmg:n=1,m=4,g=4": 24 *\}' ||
  fail 'the document lacks the stored layouts'
[ "$(grep -c '"ratio": [0-9]' out)" = 14 ] || fail 'expected 14 rows with a ratio'
expect_exit 0 sten-bench model --precision float32 --weights pruned $small --against stored.json --max-slowdown 1000000
expect_out 'stored: layouts of the tensors in pruned: 24 nmg:n=1,m=4,g=4'
expect_out '14 of 14 rows compared with stored.json'
expect_exit 0 sten-bench model --precision float32 --weights pruned $small --layouts stored --layouts csr:sparsity=0.9 --json
[ "$(layouts_of)" = ' 7 "layout": "csr:sparsity=0.9", 7 "layout": "dense", 7 "layout": "stored", ' ] ||
  fail "expected 7 rows each of csr, dense and stored, got $(layouts_of)"
expect_exit 0 sten-bench model --precision float32 --weights pruned $small --layouts csr:sparsity=0.9 --json
grep -q stored out && fail 'the stored layout is measured although --layouts does not name it'
# Any stored layout can be measured, even one without a sparse product.
for to in csr bitmask coo masked bcsr:h=4,w=4; do
  expect_exit 0 sten-convert pruned -o same --to $to -q --force
  expect_exit 0 sten-bench model --precision float32 --weights same $small
  expect_out "stored: layouts of the tensors in same: 24 $to"
done
# Dense weights of a file are measured in the default layouts, like random weights.
expect_exit 0 sten-bench model --precision float32 --weights "$model" $small --json
[ "$(grep -c '"form": "forward"' out)" = 4 ] || fail 'expected 4 forward passes'
grep -q stored out && fail 'a stored layout is measured for a dense file'
expect_exit 0 sten-bench model --precision float32 --weights "$model" $small --layouts stored
expect_out ': all dense'

# A layout without a sparsity uses the zeros of the file; with one, the weights are pruned first.
rows_of() { # rows_of KEY: its value in each row of a forward pass
  tr -d ' \n' <out | tr '{' '\n' | grep '"form":"forward"' | sed -E "s/.*\"$1\":\"?([^\",]*).*/\1/" | tr '\n' ' '
}
expect_exit 0 sten-prune "$model" -o zeros --sparsity 0.9 -q
expect_exit 0 sten-bench model --precision float32 --weights zeros $small --layouts csr --layouts csr:sparsity=0.95 --json
[ "$(rows_of layout)" = 'dense csr csr:sparsity=0.95 ' ] ||
  fail "expected dense, csr, csr:sparsity=0.95, got $(rows_of layout)"
[ "$(rows_of zeros)" = 'file file pruned ' ] ||
  fail "expected zeros: file file pruned, got $(rows_of zeros)"
rows_of sparsity | grep -qE '^0\.90*1?[0-9]* 0\.90*1?[0-9]* 0\.95' ||
  fail "expected sparsity 0.90 0.90 0.95, got $(rows_of sparsity)"
expect_exit 0 sten-bench model --precision float32 --weights zeros $small --layouts csr --layouts csr:sparsity=0.95 -o zeros.json
expect_exit 0 sten-bench model --precision float32 --weights zeros $small --layouts csr --layouts csr:sparsity=0.95 \
  --against zeros.json --max-slowdown 1000000
expect_out '21 of 21 rows compared with zeros.json'
expect_exit 0 sten-bench model --precision float32 --weights pruned $small --layouts 1:4:4 --layouts bitmask --json
[ "$(rows_of zeros)" = 'file file file ' ] ||
  fail "expected zeros: file file file, got $(rows_of zeros)"
expect_exit 0 sten-bench model --precision float32 --weights "$model" $small --json
[ "$(rows_of zeros)" = 'file pruned pruned pruned ' ] ||
  fail "expected zeros: file pruned pruned pruned, got $(rows_of zeros)"
expect_exit 2 sten-bench model --weights "$model" $small --layouts csr
expect_one_line_err
expect_err 'have no zeros (--layouts csr:sparsity=0.9 prunes the weights first)'
expect_exit 2 sten-bench model --weights zeros $small --layouts 2:4
expect_one_line_err
expect_err '--layouts nm:n=2,m=4: the zeros of zeros do not fit: '
expect_err '(--layouts nm:n=2,m=4,sparsity=0.5 prunes the weights first)'
expect_exit 2 sten-bench model --weights zeros $small --layouts 2:4,sparsity=0.9
expect_exit 2 sten-bench model --weights zeros $small --layouts nm:n=2,m=4,sparsity=0.9
expect_err "expected the layout's own sparsity 0.5, got 0.9"

# An ONNX model, whose inputs are generated from their description in the file.
bert=$STEN_SOURCE/tests/trainer/bert.onnx
expect_exit 0 sten-bench model --precision float32 --model "$bert" --batch 2 --window 6 --layouts csr:sparsity=0.5 --repeats 1 --json
[ "$(grep -c '"form": "forward"' out)" = 2 ] || fail 'expected 2 forward passes'
[ "$(grep -c '"form": "linear"' out)" = 2 ] || fail 'expected 2 rows of linear, one per layout'
expect_exit 0 sten-bench model --precision float32 --model "$bert" --batch 2 --window 6 --layouts csr:sparsity=0.5 --repeats 1
expect_out 'inputs: input_ids I64 [2, 6] below 11, attention_mask I64 [2, 6] ones, token_type_ids I64 [2, 6] below 2'
expect_out "shape: of the input 'input_ids'"
grep -q 'ignored: ' err && fail '--batch or --window is ignored although the extents are dynamic'
expect_exit 0 sten-prune "$bert" -o zeros.onnx --sparsity 0.9 --include 'bert.*' -q
expect_exit 0 sten-bench model --precision float32 --model zeros.onnx --batch 2 --window 6 --layouts csr --layouts csr:sparsity=0.5 --repeats 1 --json
[ "$(rows_of layout)/$(rows_of zeros)" = 'dense csr csr:sparsity=0.5 /file file pruned ' ] ||
  fail "expected dense csr csr:sparsity=0.5/file file pruned: $(rows_of layout)/$(rows_of zeros)"
expect_exit 2 sten-bench model --model "$bert" --layouts csr
expect_err 'have no zeros (--layouts csr:sparsity=0.9'
# For images, the reported shape is that of the input.
vit=$STEN_SOURCE/tests/onnx/models/vit-opset17.onnx
expect_exit 0 sten-bench model --precision float32 --model "$vit" --layouts csr:sparsity=0.5 --repeats 1
expect_out "shape: of the input 'pixel_values': images, channels, height and width"
grep -qE '^model +forward +[0-9]+x[0-9]+x[0-9]+x[0-9]+ ' out ||
  fail 'the forward pass has no shape of 4 extents'
. "$STEN_SOURCE/tests/cli/_onnx.sh"
port() { # FIELD NAME: an input or output of type FLOAT and shape [3, 2]
  message "$1" "$(text 1 "$2")$(message 2 "$(message 1 "$(number 1 1)$(message 2 "$(message 1 "$(number 1 3)")$(message 1 "$(number 1 2)")")")")"
}
model "$(node MatMul product x w y)$(tensor w 2 2 "$(message 9 "$(floats 1 2 3 4)")")$(port 11 x)$(port 12 y)" >"$T/fixed.onnx"
expect_exit 0 sten-bench model --precision float32 --model "$T/fixed.onnx" --batch 5 --layouts csr:sparsity=0.5 --repeats 1
expect_err '--batch 5 ignored: '
expect_out 'inputs: x F32 [3, 2] normal'
expect_exit 2 sten-bench model --model "$bert" --shape 1x32x40
expect_err '--model excludes --shape, --config and --weights'
expect_exit 2 sten-bench step --model "$bert"
expect_err '--model belongs to model'
expect_exit 1 sten-bench model --model "$MODEL"
expect_one_line_err

# In bfloat16 only the whole forward pass is measured, with dense float32 as the reference.
expect_exit 0 sten-bench model --shape 1x64x40 $small --layouts nmg:n=1,m=4,g=4 --precision bf16 -o low.csv
grep -q '^model,forward,1x64x1x8,dense,,float32,' low.csv ||
  fail 'dense float32, the reference of the ratios, is missing'
for layout in dense '"nmg:n=1,m=4,g=4"'; do
  grep -qE "^model,forward,1x64x1x8,$layout,,bf16,.*,0\.[0-9]+," low.csv || fail "$layout in bfloat16 is missing"
done
! grep -q ',linear,.*,bf16,' low.csv || fail 'an operator was measured alone in bfloat16'
expect_out 'fastest of 1x64x1x8, 1 thread: '
expect_exit 2 sten-bench model --shape 1x64x40 --precision int8
expect_err '--precision int8: expected float32 or bf16 for model'
# By default dense bfloat16 is measured only if the processor has instructions for it.
expect_exit 0 env STEN_ISA=avx2 sten-bench model --shape 1x64x40 $small --layouts dense
expect_out 'dense in bf16 is not measured: '
