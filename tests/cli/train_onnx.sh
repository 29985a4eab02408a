# SPDX-License-Identifier: Apache-2.0
# A recipe with an ONNX model: the trained weights, and the files of the result.
. "$(dirname "$0")/_lib.sh"
cd "$T"

cp "$STEN_SOURCE/tests/trainer/bert.onnx" bert.onnx
printf '{"[PAD]": 0, "[MASK]": 1, "a": 2, "b": 3, "c": 4}' >vocab.json
for i in 1 2 3 4 5 6 7 8 9 10; do printf 'abcabcaabbccabacab%sa' "${i:+b}"; done >text.txt
cat >recipe.json <<'EOF'
{
  "schema": 1,
  "model": {"kind": "onnx", "file": "bert.onnx"},
  "data": {"kind": "masked-text", "text": "text.txt", "vocabulary": "vocab.json", "window": 8, "train": 0.6, "validation": 0.2},
  "optimizer": {"rate": 0.01},
  "products": "own",
  "steps": 8,
  "batch": 4,
  "sparsity": [{"target": "bert.encoder.*.weight", "sparsifier": "magnitude:sparsity=0.5"}],
  "checkpoints": {"every": 4},
  "evaluation": {"every": 2, "keep_best": true}
}
EOF
expect_exit 0 sten-train recipe.json --dry-run
expect_out 'bert.encoder.layer.0.attention.self.query.weight'
expect_out '8 steps of 4 windows'
expect_exit 0 sten-train recipe.json --out run --threads 1
expect_out 'wrote run/model.safetensors'
expect_out 'wrote run/model.onnx'
[ "$(ls run | tr '\n' ' ')" = 'checkpoints curve.svg metrics.jsonl model.onnx model.safetensors recipe.json run.json summary.json ' ] ||
  fail "unexpected files in the output directory: $(ls run)"

# The graph is unchanged, and both files have the trained weights.
[ "$(wc -c <run/model.onnx)" = "$(wc -c <bert.onnx)" ] || fail 'the size of model.onnx changed'
cmp -s run/model.onnx bert.onnx && fail 'model.onnx has the old weights'
sparse='--include bert.encoder.*.weight --min-sparsity 0.45'
set -f
for file in run/model.onnx run/model.safetensors; do
  expect_exit 0 sten-energy $file $sparse
done
set +f
expect_exit 0 sten-prune run/model.onnx -o pruned.onnx --sparsity 0.9
expect_exit 0 sten-prune run/model.safetensors -o pruned.safetensors --sparsity 0.9

# Training can start from either file, and gives the same model.
for file in model.onnx model.safetensors; do
  expect_exit 0 sten-train recipe.json --out "from-${file#model.}" --threads 1 -q --set model.weights=run/$file
done
cmp from-onnx/model.onnx from-safetensors/model.onnx || fail 'the files have different weights'

# A resumed run and a repeated run give the same model.
cp run/model.onnx wanted.onnx
rm -r run/checkpoints/step-000008
expect_exit 0 sten-train recipe.json --out run --threads 1 --resume
cmp run/model.onnx wanted.onnx || fail 'the resumed run gives a different model'
expect_exit 0 sten-train recipe.json --out run --threads 1 --force
cmp run/model.onnx wanted.onnx || fail 'repeating the run gives a different model'

# The ONNX model stores compressed weights as dense tensors.
expect_exit 0 sten-train recipe.json --out csr --threads 1 --set sparsity.0.save=csr
expect_out 'wrote csr/model.sten.safetensors'
expect_out 'wrote csr/model.onnx, which stores zeros like all values'
cmp csr/model.onnx wanted.onnx || fail 'the layout changes the ONNX model'
expect_exit 0 sten-train recipe.json --out dense --threads 1 --set model.weights=csr/model.sten.safetensors

# Inputs are not overwritten.
mkdir own && cp bert.onnx own/model.onnx
expect_exit 2 sten-train recipe.json --out own --force --set model.file=own/model.onnx
expect_err 'own/model.onnx'
cmp own/model.onnx bert.onnx || fail 'the model was overwritten'

# External data are written beside the model, as files of the run. Here a matrix [in, out] is in
# bytes 4 to 28 of w.bin.
. "$STEN_SOURCE/tests/cli/_onnx.sh"
mkdir data
port() { # port FIELD NAME COLUMNS: [batch, COLUMNS] of FLOAT
  message "$1" "$(text 1 "$2")$(message 2 "$(message 1 "$(number 1 1)$(message 2 "$(message 1 "$(text 2 batch)")$(message 1 "$(number 1 "$3")")")")")"
}
model "$(node MatMul product x w y)$(tensor w 2 3 "$(external w.bin 4)")$(port 11 x 2)$(port 12 y 3)" >data/m.onnx
bytes_of "deadbeef$(floats 1 2 3 3 2 1)" >data/w.bin
for i in 1 2 3 4; do printf '1,0,0\n0,1,1\n1,1,2\n'; done >data/rows.csv
cat >data/recipe.json <<'EOF'
{
  "schema": 1,
  "model": {"kind": "onnx", "file": "m.onnx", "output": "y"},
  "data": {"kind": "csv", "file": "rows.csv", "train": 0.5, "validation": 0.25},
  "products": "own",
  "steps": 3,
  "batch": 4
}
EOF
expect_exit 0 sten-train data/recipe.json --out run2 --threads 1
expect_out 'wrote run2/model.onnx'
cmp run2/model.onnx data/m.onnx || fail 'model.onnx changed, although all weights are external'
[ "$(wc -c <run2/w.bin)" = 28 ] || fail "w.bin: expected 28 bytes, got $(wc -c <run2/w.bin)"
[ "$(head -c 4 run2/w.bin)" = "$(head -c 4 data/w.bin)" ] || fail 'bytes outside the tensor changed'
cmp -s run2/w.bin data/w.bin && fail 'w.bin has the old weights'
cp run2/w.bin wanted.bin
expect_exit 0 sten-train data/recipe.json --out run2 --threads 1 --resume
expect_exit 0 sten-train data/recipe.json --out run2 --threads 1 --force
cmp run2/w.bin wanted.bin || fail 'repeating the run gives different external data'
echo mine >run2/w.bin
expect_exit 2 sten-train data/recipe.json --out run2 --threads 1 --force
expect_err "contains files that the run did not write: 'w.bin'"
expect_exit 2 sten-train data/recipe.json --out data --threads 1 --force
expect_err "data: "
cmp -s data/w.bin wanted.bin && fail 'the external data of the input were overwritten'

# sten-run works without the model that the recipe names, because the run has its own copy.
cp wanted.bin run2/w.bin
expect_exit 0 sten-run run2 -o before.npy
mv data/m.onnx gone.onnx
expect_exit 0 sten-run run2 -o after.npy
cmp before.npy after.npy || fail 'the outputs differ without the model that the recipe names'
rm run2/model.onnx
expect_exit 1 sten-run run2 -o after.npy --force
expect_err 'data/m.onnx: '
