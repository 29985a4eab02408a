# SPDX-License-Identifier: Apache-2.0
# ONNX models are read as checkpoints and pruned in place, also with external data.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_onnx.sh"
cd "$T"

many=$(floats 1 2 3 4 5 6 7 8)
half=$(floats 0 0 0 0 5 6 7 8)
nodes=$(node MatMul /layer/query/MatMul x onnx::MatMul_1 a)$(node Gemm /layer/out/Gemm a layer.out.weight b "$trans_b")
nodes+=$(node Gather /embed/Gather table i c)$(node Add '' c shift d)
rest=$(tensor table 4 2 "$(message 9 "$many")")$(tensor shift 2 4 "$(message 9 "$many")")
# whole ELEMENTS: a model with two weights that have ELEMENTS, one as raw_data and one as
# float_data.
whole() {
  model "$nodes$(tensor onnx::MatMul_1 2 4 "$(message 9 "$1")")$rest$(tensor layer.out.weight 2 4 "$(message 4 "$1")")"
}
whole "$many" >model.onnx
whole "$half" >wanted.onnx

# Only the bytes of the pruned elements change.
expect_exit 0 sten-prune model.onnx -o pruned.onnx --sparsity 0.5
expect_out layer.out.weight
expect_out onnx::MatMul_1
expect_out '1 embedding, 1 that nothing is multiplied with'
cmp pruned.onnx wanted.onnx || fail 'bytes other than those of the pruned elements changed'
expect_exit 0 sten-prune model.onnx -o same.onnx --sparsity 0
cmp same.onnx model.onnx || fail 'pruning to sparsity 0 changed the model'
expect_exit 2 sten-prune model.onnx -o pruned.onnx --sparsity 0.5
expect_exit 0 sten-prune model.onnx -o pruned.onnx --sparsity 0.5 --force --mask-out masks.safetensors
cmp pruned.onnx wanted.onnx
expect_exit 2 sten-prune model.onnx -o model.onnx --sparsity 0.5 --force
expect_exit 0 sten-prune - -o piped.onnx --sparsity 0.5 <model.onnx
cmp piped.onnx wanted.onnx
mkdir put
expect_exit 0 sten-prune model.onnx -o put/ --sparsity 0.5
cmp put/model.onnx wanted.onnx

# The output can be safetensors in any layout.
expect_exit 0 sten-convert model.onnx -o dense.safetensors --to dense
expect_exit 0 sten-energy dense.safetensors --against model.onnx --min-energy 1
expect_exit 0 sten-prune model.onnx -o nm.safetensors --structure 2:4 --to nm
expect_out 'nm runs along rows (axis 1)'
expect_out 'nm runs down columns (axis 0) of 1 matrix [in, out]'
expect_exit 0 sten-energy nm.safetensors --require 'onnx*=2:4@0' --json
expect_out '"layout": "nm:n=2,m=4,axis=0"'
expect_exit 0 sten-prune model.onnx -o rows.safetensors --structure 2:4@1 --to nm
expect_exit 0 sten-energy rows.safetensors --require 'onnx*=2:4@1'
expect_exit 0 sten-energy nm.safetensors --require '{layer*,onnx*}=2:4'
expect_exit 0 sten-energy pruned.onnx --against model.onnx
expect_out 0.7222

# In an output directory the name has the ending of the format: sten-prune writes an ONNX model,
# sten-convert writes safetensors.
expect_exit 0 sten-convert model.onnx -o put/ --to dense -q
cmp put/model.safetensors dense.safetensors
for program in 'sten-convert --to dense' 'sten-prune --sparsity 0.5'; do
  expect_exit 0 $program model.onnx --out-dir "$T/batch" -q
done
cmp batch/model.safetensors dense.safetensors
cmp batch/model.onnx wanted.onnx

# A directory whose only weights are in ONNX models.
mkdir -p hub/data
echo '{}' >hub/config.json
echo kept >hub/data/note
cp model.onnx hub/net.onnx
files() { (cd "$1" && find . -type f ! -name '.*' | sed 's|^./||' | LC_ALL=C sort | tr '\n' ' '); }
has() { [ "$(files "$1")" = "$2 " ] || fail "$1 has unexpected files: $(files "$1")"; }
expect_exit 0 sten-energy hub --against model.onnx --min-energy 1
expect_exit 0 sten-prune hub -o hub.pruned --sparsity 0.5
has hub.pruned 'config.json data/note net.onnx'
cmp hub.pruned/net.onnx wanted.onnx ||
  fail 'pruning the directory gives a different model than pruning the file'
expect_exit 0 sten-convert hub -o hub.dense --to dense -q
has hub.dense 'config.json data/note net.safetensors'
cmp hub.dense/net.safetensors dense.safetensors
expect_exit 0 sten-prune hub -o hub.small --sparsity 0.5 --to bitmask -q
has hub.small 'config.json data/note net.sten.safetensors'
cp model.onnx hub/other.onnx
expect_exit 1 sten-energy hub
expect_err "hub: expected model.onnx, got a directory of 2 ONNX models (name one, such as 'net.onnx')"
cp wanted.onnx hub/model.onnx
expect_exit 0 sten-energy hub --against pruned.onnx --min-energy 1
expect_exit 0 sten-energy --diff hub pruned.onnx

# Sparse layouts and weights of other formats cannot be written as ONNX.
refused() {
  local wanted=$1
  shift
  expect_exit 2 "$@"
  expect_one_line_err
  expect_err "$wanted"
  [ ! -e new.onnx ] || fail "the rejected '$*' wrote new.onnx"
}
refused 'new.onnx: an ONNX model cannot store bitmask (write a .safetensors file)' \
  sten-prune model.onnx -o new.onnx --sparsity 0.5 --to bitmask
refused 'the name is that of an ONNX model' sten-convert model.onnx -o new.onnx --to csr
refused 'the name is that of an ONNX model' sten-convert dense.safetensors -o new.onnx --to csr
refused 'the name is that of an ONNX model' sten-prune dense.safetensors -o new.onnx --sparsity 0.5

refused '--schedule does not support ONNX models' sten-prune model.onnx -o new.onnx --schedule linear:from=0.2,to=0.5,stages=2 \
  --finetune 'cp {in} {out}' --state state
# Generated tensor names: the graph identifies the output head, and -v and --json give the modules
# of the nodes.
model "$(node MatMul /h/0/MatMul x onnx::MatMul_8 a)$(node MatMul /lm_head/MatMul a onnx::MatMul_9 y)$(tensor \
  onnx::MatMul_8 4 4 "$(message 9 "$many$many")")$(tensor onnx::MatMul_9 4 2 "$(message 9 "$many")")$(message 12 \
  "$(text 1 y)")" >head.onnx
expect_exit 0 sten-prune head.onnx --dry-run --sparsity 0.5 -v
expect_err 'sten-prune: selected onnx::MatMul_8 (h.0.weight)'
expect_err 'left alone onnx::MatMul_9 (lm_head.weight): output head'
expect_exit 0 sten-prune head.onnx --dry-run --sparsity 0.5 --json
expect_out '"module": "h.0.weight"'
expect_exit 0 sten-energy head.onnx -v
expect_err 'selected onnx::MatMul_8 (h.0.weight)'

# External data: one file, with bytes that belong to no tensor.
mkdir in to
nodes=$(node MatMul q x w a)
outside() { model "$nodes$(tensor w 2 4 "$(external w.data "$1")")$rest"; }
outside 3 >in/model.onnx
bytes_of "aabbcc${many}dd" >in/w.data
expect_exit 0 sten-energy in/model.onnx
expect_exit 0 sten-prune in/model.onnx -o to/model.onnx --sparsity 0.5
cmp in/model.onnx to/model.onnx || fail 'the graph changed'
bytes_of "aabbcc${half}dd" | cmp - to/w.data || fail 'the external data have the wrong bytes'
expect_exit 2 sten-prune in/model.onnx -o in/new.onnx --sparsity 0.5 --force
expect_err 'in/w.data: the output is the input, and inputs are never written'
expect_exit 2 sten-prune in/model.onnx -o to/other.onnx --sparsity 0.5
expect_err 'to/w.data'
expect_exit 0 sten-convert in/model.onnx -o external.safetensors --to dense
expect_exit 0 sten-energy external.safetensors --include w --against to/model.onnx
expect_exit 1 sten-energy - <in/model.onnx
expect_err 'need a model file, got a stream'
[ "$(ls in to | tr '\n' ' ')" = 'in: model.onnx w.data  to: model.onnx w.data ' ] ||
  fail 'the directory in or to has unexpected files'

# In a model directory the external data keep their location.
mkdir -p hub.external/data
model "$nodes$(tensor w 2 4 "$(external data/w.data 3)")$rest" >hub.external/model.onnx
bytes_of "aabbcc${many}dd" >hub.external/data/w.data
echo kept >hub.external/data/note
expect_exit 0 sten-prune hub.external -o hub.to --sparsity 0.5
if grep -q 'left behind' out; then fail 'the external data are reported as left behind'; fi
has hub.to 'data/note data/w.data model.onnx'
cmp hub.external/model.onnx hub.to/model.onnx
bytes_of "aabbcc${half}dd" | cmp - hub.to/data/w.data
expect_exit 0 sten-convert hub.external -o hub.dense --to dense --force -q
has hub.dense 'data/note model.safetensors'

# Two tensors whose external data overlap.
model "$nodes$(tensor w 2 4 "$(external w.data 3)")$(tensor v 2 4 "$(external w.data 7)")" >in/model.onnx
cat in/w.data in/w.data >in/more && mv in/more in/w.data
expect_exit 1 sten-prune in/model.onnx -o new.onnx --sparsity 0.5
expect_err "'w': external data that tensors share"
expect_one_line_err

# An invalid model gives one error line and no output.
bad() {
  expect_exit 1 sten-prune bad.onnx -o new.onnx --sparsity 0.5
  expect_one_line_err
  expect_err "$1"
  [ ! -e new.onnx ] || fail 'an invalid model gave an output'
}
head -c 100 model.onnx >bad.onnx
bad 'are left'
model "$(tensor w 2 4 "$(message 9 "$(floats 1)")")" >bad.onnx
bad 'expected 32 bytes for shape [2, 4] of F32, got 4'
model "$(tensor w 2 4 "$(external ../w.data 3)")" >bad.onnx
bad 'leaves its directory'
model "$(tensor w 2 4 "$(external w.data 3)")" >bad.onnx
bad "'w.data': file not found"
