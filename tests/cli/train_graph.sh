# SPDX-License-Identifier: Apache-2.0
# Graphs as JSON, such as traces of modules: sten-train trains them, sten-run runs them.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"
mkdir net
cat >net/graph.json <<'EOF'
{"inputs": ["pixels", "draw"],
 "weights": [{"name": "hidden.weight", "shape": [32, 64], "init": "uniform:bound=0.125"},
             {"name": "out.weight", "shape": [10, 32], "init": "uniform:bound=0.18"}],
 "nodes": [{"name": "hidden", "op": "linear", "inputs": ["pixels", "hidden.weight"]},
           {"name": "relu", "op": "relu", "inputs": ["hidden"]},
           {"name": "drop", "op": "dropout", "inputs": ["relu", "draw"], "attributes": {"p": 0.1, "seed": 1}},
           {"name": "out", "op": "linear", "inputs": ["drop", "out.weight"]},
           {"name": "shares", "op": "softmax", "inputs": ["out"]}],
 "outputs": ["shares", "out"]}
EOF
cp "$STEN_SOURCE/recipes/data/digits.csv" .
cat >recipe.json <<'EOF'
{
  "schema": 1,
  "model": {"kind": "graph", "file": "net/graph.json", "output": "out"},
  "data": {"kind": "csv", "file": "digits.csv", "scale": 0.125, "shift": -1},
  "optimizer": {"rate": 0.01},
  "steps": 120,
  "sparsity": [{"target": "hidden.weight", "sparsifier": "magnitude:sparsity=0.5", "save": "csr"}]
}
EOF
expect_exit 0 sten-train recipe.json --out run --threads 1
cmp net/graph.json run/graph.json || fail 'graph.json of the run differs from the input'
header run/model.sten.safetensors | grep -qF '"hidden.weight::values"' || fail 'the weight is not sparse'
expect_exit 0 sten-run run --min-accuracy 0.85

# sten-run works without the graph file that the recipe names.
mv net/graph.json gone.json
expect_exit 0 sten-run run --min-accuracy 0.85
mv gone.json net/graph.json

# A directory with a graph and weights runs on the data of a recipe.
cp run/model.sten.safetensors net/model.safetensors
expect_exit 0 sten-run net --data recipe.json --min-accuracy 0.85

# Training can start from the trained weights, but cannot overwrite its graph.
expect_exit 0 sten-train recipe.json --out run2 --threads 1 --set model.weights=net/model.safetensors --set steps=5
expect_exit 2 sten-train recipe.json --out net --threads 1 --force
expect_err 'graph.json'
cmp net/graph.json run/graph.json || fail 'the graph was overwritten'
expect_exit 2 sten-train recipe.json --out none --set model.output=outs
expect_err "model.output: unknown output 'outs' of"
expect_exit 2 sten-train recipe.json --out none --set data.input=pixel
expect_err "data.input: unknown input 'pixel' of"
# A label out of range is rejected before training, wherever it is in the data.
sed '50s/,[0-9]*$/,15/' digits.csv >more.csv
for how in --dry-run "--out none"; do
  expect_exit 1 sten-train recipe.json $how --set data.file=more.csv
  expect_one_line_err
  expect_err "more.csv: label 15 is out of range: the model's output 'out' has 10 classes"
done
# Each row has two labels of ten classes. Labels of a different shape are rejected once the data
# are read.
cat >pairs.json <<'EOF'
{"inputs": ["x"],
 "weights": [{"name": "w", "shape": [20, 4], "init": "uniform:bound=0.5"}],
 "nodes": [{"name": "hidden", "op": "linear", "inputs": ["x", "w"]},
           {"name": "out", "op": "reshape", "inputs": ["hidden"], "attributes": {"shape": [-1, 2, 10]}}],
 "outputs": ["out"]}
EOF
python3 - <<'EOF'
import struct
def npy(path, descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)
npy("x.npy", "<f4", "(40, 4)", bytes(4 * 40 * 4))
npy("labels1.npy", "<i8", "(40,)", bytes(8 * 40))
for n in 2, 3: npy(f"labels{n}.npy", "<i8", f"(40, {n})", bytes(8 * 40 * n))
EOF
cat >pairs-recipe.json <<'EOF'
{"schema": 1, "model": {"kind": "graph", "file": "pairs.json"}, "steps": 2, "batch": 8,
 "data": {"kind": "arrays", "features": "x.npy", "labels": "labels2.npy"}}
EOF
expect_exit 0 sten-train pairs-recipe.json --dry-run
for how in --dry-run "--out none"; do
  for labels in 'labels1.npy [8]' 'labels3.npy [8, 3]'; do
    expect_exit 1 sten-train pairs-recipe.json $how --set data.labels=${labels%% *}
    expect_one_line_err
    expect_err "pairs.json: node 'loss': expected labels of the logits' shape [8, 2, 10] without the last axis, got ${labels#* }"
  done
  [ ! -e none ] || fail 'the rejected run left a directory'
done
# If an operator has no shape rule, the format of its output is checked on the value itself.
sed 's|{"name": "relu"|{"name": "products", "op": "einsum", "inputs": ["hidden", "hidden"], "attributes": {"equation": "bi,bi->bi"}},\n&|
     s|"op": "relu", "inputs": \["hidden"\]|"op": "relu", "inputs": ["products"]|' net/graph.json >einsum.json
format='formats=[{"of": "intermediate", "target": "products", "layout": "csr:dims=2.1"}]'
for how in --dry-run "--out none"; do
  expect_exit 1 sten-train recipe.json $how --set model.file=einsum.json --set "$format"
  expect_one_line_err
  expect_err "/formats/0/target: 'products': dims=2.1 is beyond the axes of shape ["
  [ ! -e none ] || fail 'the rejected run left a directory'
done
expect_exit 0 sten-train recipe.json --dry-run --set model.file=einsum.json --set "${format/dims=2.1/dims=0.1}"
printf '{"nodes": 3}' >bad.json
expect_exit 1 sten-train recipe.json --out none --set model.file=bad.json
expect_one_line_err
expect_err 'bad.json: '
expect_exit 1 sten-train recipe.json --out none --set model.file=none.json
