# SPDX-License-Identifier: Apache-2.0
# The result of training has the complete state dict in every layout, including the running
# statistics of batch norms that inference uses.
. "$(dirname "$0")/_lib.sh"
cd "$T"
. "$STEN_SOURCE/tests/cli/_onnx.sh"

# y = scale * bn(x W): names as PyTorch's exporter writes them.
port() { # port FIELD NAME COLUMNS: [batch, COLUMNS] of FLOAT
  message "$1" "$(text 1 "$2")$(message 2 "$(message 1 "$(number 1 1)$(message 2 "$(message 1 "$(text 2 batch)")$(message 1 "$(number 1 "$3")")")")")"
}
vector() { message 5 "$(number 1 "$2")$(number 2 1)$(text 8 "$1")$(message 9 "$3")"; } # vector NAME N FLOATS
norm=$(for name in h bn.weight bn.bias bn.running_mean bn.running_var; do text 1 "$name"; done)
write_model() { # write_model FLOATS: with FLOATS as the running mean
  model "$(message 5 "$(number 1 4)$(number 1 2)$(number 2 1)$(text 8 fc.weight)$(message 9 "$(floats 1 2 3 3 2 1 1 2)")")\
$(vector bn.weight 4 "$(floats 1 1 1 1)")$(vector bn.bias 4 "$(floats 0 1 0 1)")\
$(vector bn.running_mean 4 "$1")$(vector bn.running_var 4 "$(floats 1 2 3 4)")$(vector scale 1 "$(floats 2)")\
$(vector onnx::Mul_7 2 "$(floats 1 2)")\
$(node Gemm product x fc.weight h "$trans_b")$(message 1 "$norm$(text 2 b)$(text 3 norm)$(text 4 BatchNormalization)")\
$(node Mul times b scale y)$(port 11 x 2)$(port 12 y 4)"
}
write_model "$(floats 1 2 3 4)" >m.onnx
for i in 1 2 3 4; do printf '1,0,0\n0,1,1\n1,1,2\n0,0,3\n'; done >rows.csv
cat >recipe.json <<'END'
{
  "schema": 1,
  "model": {"kind": "onnx", "file": "m.onnx"},
  "data": {"kind": "csv", "file": "rows.csv", "train": 0.5, "validation": 0.25},
  "products": "own",
  "steps": 3,
  "batch": 4,
  "sparsity": [{"target": "fc.weight", "sparsifier": "nm:n=1,m=2"}]
}
END
expect_exit 0 sten-train recipe.json --dry-run
expect_out '2 running statistics of batch norms are frozen: bn.running_mean, bn.running_var'
names() { sten-energy "$1" --list --json | sed -n 's/.*"name": "\([^"]*\)".*/\1/p' | grep -v total | tr '\n' ' '; }
wanted='bn.bias bn.running_mean bn.running_var bn.weight fc.weight scale '
for save in dense nm csr; do
  expect_exit 0 sten-train recipe.json --out $save --threads 1 --set sparsity.0.save=$save
  expect_out "wrote $save/model.onnx"
  [ "$(names $save/model*.safetensors)" = "$wanted" ] || fail "$save: unexpected tensors: $(names $save/model*.safetensors)"
  expect_exit 0 sten-run $save -o $save.npy
  expect_exit 0 sten-run $save/model.onnx --data recipe.json -o $save-onnx.npy
  cmp $save.npy $save-onnx.npy ||
    fail "$save: the checkpoint and the ONNX model give different outputs"
done
cmp dense/model.onnx nm/model.onnx || fail 'the ONNX model depends on the layout'
cmp dense.npy csr.npy || fail 'the outputs depend on the layout'

# The running statistics come from the weights file, not from the graph.
write_model "$(floats 4 3 2 1)" >other.onnx
expect_exit 0 sten-convert other.onnx -o other.safetensors --to dense
expect_exit 0 sten-run other.onnx --data recipe.json -o wanted.npy
expect_exit 0 sten-run other.safetensors --config m.onnx --data recipe.json -o got.npy
cmp wanted.npy got.npy || fail 'sten-run takes the statistics of the graph, not of the weights'
expect_exit 0 sten-train recipe.json --out from --set model.weights=other.safetensors --threads 1
expect_exit 3 sten-energy from/model.safetensors other.safetensors --diff
! grep -q running "$T/out" || fail 'the statistics of model.weights are lost'
