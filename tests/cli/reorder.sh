# SPDX-License-Identifier: Apache-2.0
# --reorder on the shipped model permutes the rows of a weight that is pruned to nmgv, and with them
# the columns of the next weight.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_onnx.sh"
cd "$T"

RECIPE=$STEN_SOURCE/recipes/shakespeare-bert-one-shot.json
layers='bert.encoder.layer.*'
order=(--reorder "$layers.intermediate.dense.weight=$layers.output.dense.weight")
prune() { expect_exit 0 sten-prune "$MODEL" --include "$layers.intermediate.dense.weight" --structure 1:4:2:32 "$@"; }

# The output does not depend on the number of threads, and a dry run reports the same energies.
prune -o one.safetensors --to nmgv "${order[@]}" --threads 1 --json
energies=$(grep -E '"energy(_unordered)?"' out | cut -d: -f2)
prune -o two.safetensors --to nmgv "${order[@]}" --threads 2
cmp one.safetensors two.safetensors || fail "the output depends on the number of threads"
prune --dry-run "${order[@]}" --report report.json --report report.csv
[ "$(grep -E '"energy(_unordered)?"' report.json | cut -d: -f2)" = "$energies" ] || fail "a dry run reports different energies than the run"
expect_out 'rows of 4 weights reordered, and columns of the next, with 4 biases'
grep -q '"reordered": "rows"' report.json || fail "the report does not say what was reordered"
head -n 1 report.csv | grep -q 'energy_unordered' || fail "the report lacks the energy without reordering"
# energy_unordered is the energy without --reorder; reordering raises it by more than a tenth.
prune --dry-run --json
without=$(grep '"energy"' out | head -n 1 | cut -d: -f2)
set -- $energies
awk -v a="${without%,}" -v kept="${1%,}" -v before="$2" \
  'BEGIN { exit !(kept > 1.1 * a && before - a < 1e-5 && a - before < 1e-5) }' || fail "unexpected energies: $energies with --reorder, $without without"
tail -c +9 one.safetensors | head -c 20000 | grep -aqF 'reorder=bert.encoder' || fail "the provenance does not contain the reorder option"

# Calibrated pruning measures the layers in their new order, and the reordered model still works.
expect_exit 0 sten-prune "$STEN_SOURCE/recipes/models/shakespeare-bert" -o pruned --structure 2:4:2:32 "${order[@]}" \
  --include "$layers.{intermediate,output}.dense.weight" --exclude "*.attention.*" \
  --method admm --calibrate "$RECIPE" --calibrate-samples 16 --json
expect_out '"reordered": "columns"'
expect_exit 0 sten-run pruned --data "$RECIPE" --max-loss 1.65
# Attention combines values within each head, so rows must not be permuted across heads.
expect_exit 2 sten-prune "$STEN_SOURCE/recipes/models/shakespeare-bert" --dry-run --structure 2:4:2:32 --method wanda \
  --include "$layers.value.weight" --reorder "$layers.attention.self.value.weight=$layers.attention.output.dense.weight" \
  --calibrate "$RECIPE" --calibrate-samples 1
expect_one_line_err
expect_err 'expected only operators on single features'

refused() { # TEXT ARGUMENT...
  expect_exit 2 sten-prune "${@:2}"
  expect_one_line_err
  expect_err "$1"
  [ ! -e o ] || fail "a rejected run left an output"
}
refused 'near are' "$MODEL" -o o --structure 1:4:2:32 --reorder '*.intermedate.weight=*.output.weight'
refused 'expected a tensor pruned to nmgv' "$MODEL" -o o --structure 2:4 "${order[@]}"
refused '--schedule and --reorder exclude each other' "$MODEL" -o o --schedule layer-wise --sparsity 0.5 --state s \
  --finetune true "${order[@]}"
model "$(tensor a.weight 2 2 "$(message 9 "$(floats 1 2 3 4)")")$(node MatMul n x a.weight y)" >m.onnx
refused '--reorder does not support ONNX models' m.onnx -o o --include a.weight --structure 1:2:1:1 --reorder 'a.weight=b.weight'
