# SPDX-License-Identifier: Apache-2.0
# Low-rank adapters combined with formats of values, and trained between stages of pruning.
. "$(dirname "$0")/_lib.sh"
cd "$T"
lora='lora={"target": "layers.*.weight", "rank": 4}'
recipes=$STEN_SOURCE/recipes

expect_exit 0 sten-train "$recipes/digits-mlp-csr-activations.json" --out sparse --set steps=20 --set evaluation.every=10 \
  --set "$lora" -q
expect_exit 0 sten-run sparse

expect_exit 0 sten-train "$recipes/digits-mlp-dense.json" --out dense --set steps=40 --set evaluation.every=20 -q
expect_exit 0 sten-prune dense/model.safetensors -o pruned.safetensors --include 'layers.*.weight' \
  --schedule iterative:from=0.5,to=0.7,step=0.2 --state stages \
  --recipe "$recipes/digits-mlp-dense.json" --set steps=20 --set evaluation=null --set "$lora" -q
expect_exit 0 sten-energy pruned.safetensors --include 'layers.*.weight' --min-sparsity 0.69
if grep -qa lora_A pruned.safetensors; then fail 'adapters are in the output'; fi
