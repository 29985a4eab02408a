# SPDX-License-Identifier: Apache-2.0
# Formats of values and gradients in a recipe: no fallback, the same loss as the dense recipe, and
# a trained model that computes with the formats.
. "$(dirname "$0")/_lib.sh"
cd "$T"
recipes=$STEN_SOURCE/recipes
short=(--set steps=40 --set evaluation.every=20 --set checkpoints.every=20 --threads 1 -q)

expect_exit 0 sten-train "$recipes/digits-mlp-csr-activations.json" --dry-run --set steps=40
expect_out 'step 39: linear(csr, dense, dense) -> relu/csr: exact: layers.1'
expect_out 'step 39: relu.grad(csr, csr) -> keep-all/csr: exact: layers.1.relu and 1 more'
if grep '^step ' "$T/out" | grep -qv ': exact: '; then fail "a node falls back: $(cat "$T/out")"; fi

expect_exit 0 sten-train "$recipes/digits-mlp-csr-activations.json" --out sparse "${short[@]}" --strict
expect_exit 0 sten-train "$recipes/digits-mlp-dense.json" --out dense "${short[@]}"
# The losses agree to four digits, since the order of summation differs.
losses() { sed -n 's/.*"split":"validation","loss":\([0-9.]*\).*/\1/p' "$1/metrics.jsonl" | cut -c1-6; }
[ "$(losses sparse)" = "$(losses dense)" ] || fail "the losses differ: $(losses sparse) with formats, $(losses dense) dense"
[ "$(losses sparse | wc -l)" = 2 ] || fail "expected 2 losses, got $(losses sparse | wc -l)"
expect_exit 0 sten-run sparse --strict

# A streaming external sparsifier is moved inline: it gives the same bytes as the inline sparsifier,
# and the plan says so.
format() { echo "formats=[{\"of\": \"intermediate\", \"target\": \"layers.1\", $1}]"; }
external=$(format '"external": "threshold:at=0.1", "layout": "csr"')
moved='linear(dense, dense, dense) -> threshold/csr: exact; external threshold:at=0.1 moved inline'
expect_exit 0 sten-train "$recipes/digits-mlp-dense.json" --dry-run --set steps=40 --set "$external"
expect_out "step 39: $moved: layers.1"
expect_exit 0 sten-train "$recipes/digits-mlp-dense.json" --out external "${short[@]}" --set "$external"
expect_exit 0 sten-train "$recipes/digits-mlp-dense.json" --out inline "${short[@]}" \
  --set "$(format '"inline": "threshold:at=0.1", "temporary": "csr"')"
cmp external/model.safetensors inline/model.safetensors || fail 'inline and external threshold differ'
expect_exit 0 sten-run external --explain --json
expect_out "$moved"
