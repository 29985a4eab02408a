# SPDX-License-Identifier: Apache-2.0
# sten-train warns if training would replace zeros of a pruned checkpoint that no target of the
# recipe keeps.
. "$(dirname "$0")/_lib.sh"
cd "$T"

for i in 1 2 3 4 5 6; do printf '1,0,0\n0,1,1\n1,1,2\n'; done >rows.csv
cat >recipe.json <<'END'
{
  "schema": 1,
  "model": {"kind": "mlp", "sizes": [2, 16, 8, 3]},
  "data": {"kind": "csv", "file": "rows.csv"},
  "steps": 1
}
END
expect_exit 0 sten-train recipe.json --out dense
expect_exit 0 sten-prune dense/model.safetensors -o pruned.safetensors --sparsity 0.5 --include 'layers.*.weight'
set -- recipe.json --set model.weights=pruned.safetensors --set 'sparsity=[{"target": "layers.1.weight", "sparsifier": "magnitude:sparsity=0.5"}]'
line='pruned.safetensors: training replaces the zeros of 2 weights that no target of /sparsity matches: layers.0.weight (50.0 %), layers.2.weight (50.0 %)'
for mode in '--dry-run' '--out tuned'; do
  expect_exit 0 sten-train "$@" $mode
  expect_err "$line"
done
# There is no warning if all pruned weights are targets, or if nothing was pruned.
expect_exit 0 sten-train "$@" --set 'sparsity.0.target=layers.*.weight' --out all
! grep -q 'replaces the zeros' "$T/err" || fail 'a warning although all zeros are kept'
expect_exit 0 sten-train "$@" --set model.weights=dense/model.safetensors --out from_dense
! grep -q 'replaces the zeros' "$T/err" || fail 'a warning although nothing was pruned'
