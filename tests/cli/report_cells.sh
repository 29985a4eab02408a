# SPDX-License-Identifier: Apache-2.0
# Cells of reports: energy of empty and of zero tensors, counts of kept values, overlaps of masks.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

# An empty tensor has no energy, and a tensor of zeros has energy 1. Zeros of the input do not count
# as kept.
safetensors a.safetensors "{$(entry some.weight F32 2,4 0 32),$(entry none.weight F32 0,4 32 32),
  $(entry zeros.weight F32 1,2 32 40)}" "$F1$F2$F3$F4$F0$F0$F0$F1$F0$F0"
expect_exit 0 sten-prune a.safetensors -o b.safetensors --sparsity 0.25 --json
grep -A14 '"none.weight"' "$T/out" | sed '/}/q' | grep -q energy && fail 'an empty tensor has an energy'
grep -A14 '"zeros.weight"' "$T/out" | sed '/}/q' | grep -q '"energy": 1.0' || fail 'expected energy 1.0 for a tensor of zeros'
grep -A14 '"some.weight"' "$T/out" | sed '/}/q' | grep -q '"kept": 5,' || fail 'expected 5 kept values, without the zeros of the input'
expect_exit 0 sten-energy b.safetensors --against a.safetensors --json
grep -A14 '"none.weight"' "$T/out" | sed '/}/q' | grep -q energy && fail 'an empty tensor has an energy'

# The difference of two masks is reported as counts and an overlap, also in the total.
mask() { safetensors "$1" "{$(entry m BOOL 2,4 0 8),$(entry same BOOL 1,4 8 12)}" "$2\x01\x00\x01\x00"; }
mask x.safetensors '\x01\x01\x01\x00\x00\x00\x00\x00'
mask y.safetensors '\x00\x01\x01\x01\x00\x00\x00\x00'
expect_exit 3 sten-energy --diff x.safetensors y.safetensors
expect_out '0.5000'
! grep -q '|B-A|' "$T/out" || fail 'the table has a distance of masks'
expect_exit 3 sten-energy --diff x.safetensors y.safetensors --json
expect_out '"overlap": 0.5'
grep -A8 '"total"' "$T/out" | grep -q '"overlap": 0.6666666666666666' || fail 'expected overlap 2/3 in the total'
grep -A8 '"total"' "$T/out" | grep -q '"max_difference"' && fail 'the total of masks has a distance'

# Figures on the HTML page are rounded.
expect_exit 0 sten-prune a.safetensors --dry-run --sparsity 0.3 --report page.html -q
grep -q '<dt>model sparsity</dt><dd>[0-9.]* %</dd>' page.html || fail 'model sparsity is not in %'

# A legend is printed only together with its column.
reorder() {
  expect_exit 0 sten-prune "$STEN_SOURCE/recipes/models/shakespeare-bert" --dry-run --structure 2:4:2:32 \
    --include '*.layer.0.intermediate.dense.weight' \
    --reorder 'bert.encoder.layer.0.intermediate.dense.weight=bert.encoder.layer.0.output.dense.weight' "$@"
}
reorder
expect_out 'unordered: the energy without reordering'
reorder --summary
if grep -q 'unordered:' "$T/out"; then fail '--summary prints the legend of an omitted column'; fi
