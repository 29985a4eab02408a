# SPDX-License-Identifier: Apache-2.0
# Batches with several file formats: outputs in sparse layouts are .safetensors, and --against DIR
# finds originals by name.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

mkdir in
safetensors in/a.safetensors "{$(entry w.weight F32 2,2 0 16)}" "$F1$F2$F3$F4"
header="{'descr': '<f4', 'fortran_order': False, 'shape': (2,2), }"
{ printf '\x93NUMPY\x01\x00%b' "$(printf '\\x%02x\\x00' ${#header})"; printf '%s%b' "$header" "$F1$F2$F3$F4"; } >in/b.npy
cp "$STEN_SOURCE/tests/onnx/models/mlp-opset14.onnx" in/c.onnx

for command in 'sten-prune --sparsity 0.5 --to csr' 'sten-convert --to csr'; do
  rm -rf sparse
  expect_exit 0 $command in/* --out-dir sparse
  expect_out '2 outputs are named .safetensors: an .onnx or .npy file cannot hold csr'
  [ "$(cd sparse && echo *)" = 'a.safetensors b.safetensors c.safetensors' ] ||
    fail "expected a, b and c.safetensors, got $(ls sparse)"
done
# A dense output keeps the file format of its input.
expect_exit 0 sten-prune in/* --out-dir dense --sparsity 0.5
[ "$(cd dense && echo *)" = 'a.safetensors b.npy c.onnx' ] ||
  fail "expected a.safetensors, b.npy and c.onnx, got $(ls dense)"
! grep -q 'cannot hold' out || fail 'a dense output was renamed'
mkdir one
expect_exit 0 sten-prune in/b.npy -o one/ --sparsity 0.5 --to csr
[ -s one/b.safetensors ] || fail "-o DIR/: expected b.safetensors, got $(ls one)"
# Two outputs with the same name are an error.
cp in/a.safetensors in/b.safetensors
expect_exit 2 sten-prune in/* --out-dir twice --sparsity 0.5 --to csr
expect_err "would both be written as 'b.safetensors'"
rm in/b.safetensors

# --against DIR finds the original of each file, for any number of files.
rm -rf sparse
expect_exit 0 sten-prune in/* --out-dir sparse --sparsity 0.5 --to csr
expect_exit 0 sten-energy sparse/* --against in --json
expect_out '"inputs": ['
[ "$(grep -c '"energy": 0.7,' "$T/out")" -ge 4 ] || fail 'expected at least 4 energies of 0.7'
expect_out '"name": "w.weight",'
expect_out '"name": "b",'
[ "$(grep -c '"tensors": \[' "$T/out")" = 3 ] ||
  fail 'expected a list of tensors for each of 3 inputs'
expect_exit 0 sten-energy sparse/a.safetensors --against in --min-energy 0.6
expect_exit 0 sten-energy dense/* --against in
expect_exit 0 sten-energy sparse/* --against in --json --summary
! grep -q '"tensors"' "$T/out" || fail '--summary lists tensors'
expect_exit 0 sten-prune in/a.safetensors in/b.npy --out-dir json --sparsity 0.5 --report r.json
grep -q '"tensors": \[' r.json || fail 'the report lacks the tensors'
# No original, or more than one.
cp sparse/a.safetensors sparse/z.safetensors
expect_exit 2 sten-energy sparse/z.safetensors --against in
expect_one_line_err
expect_err "in: no original of 'z.safetensors' found: expected a checkpoint of that name"
cp in/b.npy in/z.npy
cp in/c.onnx in/z.onnx
expect_exit 2 sten-energy sparse/z.safetensors --against in
expect_err "in: the directory has two originals of 'z.safetensors': 'z.npy' and 'z.onnx' (name one)"
# The manifest of a batch (.sten-batch.json) records which of them was the original.
expect_exit 0 sten-prune in/z.npy --out-dir recorded --sparsity 0.5 --to csr
expect_exit 0 sten-energy recorded/z.safetensors --against in --json
expect_out '"against": "in/z.npy"'
