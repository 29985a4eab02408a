# SPDX-License-Identifier: Apache-2.0
# sten-train --dry-run prints the sparsity schedule and leaves no files.
. "$(dirname "$0")/_lib.sh"
recipes=$STEN_SOURCE/recipes
digits=$recipes/digits-mlp-iterative.json
mkdir "$T/here"
cd "$T/here"

expect_exit 0 sten-train "$digits" --dry-run
golden train_preview
expect_exit 0 sten-train "$recipes/shakespeare-bert-layer-wise.json" --dry-run
expect_out "'bert.encoder.layer.*.weight' is 24 weights: magnitude:sparsity=0.75, bert.encoder.layer.0.attention.output.dense.weight from step 0, "
expect_out 'bert.encoder.layer.3.output.dense.weight from step 383; masks: fixed'
expect_out '1295590 parameters, 1228800 of them in weights that become sparse; 373990 stay'
expect_exit 0 sten-train "$recipes/digits-mlp-from-scratch.json" --dry-run
expect_out 'masks: new every 20 steps, before step 1500'
expect_exit 0 sten-train "$digits" --dry-run --json
expect_out '"sparsifiers": "400 magnitude:sparsity=0.1; 533 magnitude:sparsity=0.2; '
expect_out '"kept": 1904'

# --dry-run applies --set and --seed, and converts epochs to steps.
expect_exit 0 sten-train "$digits" --dry-run --set steps=null --set epochs=50 --seed 7 --json
expect_out '"steps": 1700,'
expect_out '"seed": 7,'
expect_exit 0 sten-train "$recipes/digits-mlp-dense.json" --dry-run \
  --set sparsity.0.target=layers.1.weight --set sparsity.0.sparsifier=nm:n=2,m=4 --set sparsity.0.save=nm
expect_out '50.00 %'
expect_out 'nm:n=2,m=4'

# Formats of values and gradients, and the implementation of each node.
expect_exit 0 sten-train "$digits" --dry-run \
  --set 'formats=[{"of":"intermediate","target":"layers.*.relu","inline":"relu","temporary":"csr","begin":100}]'
expect_out "/formats/0: intermediate 'layers.*.relu': relu -> csr -> keep-all -> csr, from step 100, before step 2000"
expect_out 'step 100: linear(csr, '
expect_out 'step 1999: linear(csr, '

# --dry-run rejects the same recipes as training.
refused() { # refused CODE TEXT ARGUMENT...
  local code=$1 text=$2
  shift 2
  expect_exit "$code" sten-train "$digits" --dry-run "$@"
  expect_one_line_err
  expect_err "$text"
}
refused 2 "/sparsity/0/target: 'layer.*' matches none of the 6 weights of the model; near are layers.0.weight, " --set 'sparsity.0.target=layer.*'
refused 2 "did you mean 'layers.0.weight'?" --set sparsity.0.target=layers.0.wieght
refused 2 "/sparsity/1/target: weight 'layers.0.weight' also matches /sparsity/0" \
  --set sparsity.1.target=layers.0.weight --set sparsity.1.sparsifier=relu
refused 2 "--set: /optimizer/lr: unknown key, did you mean 'rate'?" --set optimizer.lr=1
refused 2 "--set: /optimizer/rat: unknown key, did you mean 'rate'?" --set optimizer.rat=1
refused 2 "/formats/0/target: 'relu' matches none of the 6 values of the model; near are " \
  --set 'formats=[{"of":"intermediate","target":"relu","layout":"csr"}]'
refused 2 '/sparsity/0/schedule/end: step 1600 is after the last of 1000 steps' --set steps=1000
refused 2 'stages do not fit into 5 steps' --set sparsity.0.schedule.end=405
refused 2 'expected key=value' --set steps
refused 1 'missing.csv: ' --set data.file=missing.csv
refused 2 '--dry-run and --resume exclude each other' --resume
expect_exit 1 sten-train "$digits" --dry-run --set "model.weights=$MODEL"
expect_err 'layers.1.bias is missing; and 76 more'
expect_exit 2 sten-train "$digits"
expect_err '--out: missing'
[ -z "$(ls -A)" ] || fail "--dry-run left files: $(ls -A)"
