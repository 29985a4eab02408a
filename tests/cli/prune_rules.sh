# SPDX-License-Identifier: Apache-2.0
# Rules beside a global threshold, and the tensors that rules skip.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

w="$F2$F3$F4$F4"
values() { data o.safetensors | od -An -v -tf4 -w16 | tr -s ' ' | sed 's/^ //'; }
prunes() { # FILE VALUES: a global half of the tensors without a rule, 2:4 for a.weight
  expect_exit 0 sten-prune "$1" -o o.safetensors -f --to dense --sparsity 0.5 --scope global --rule a.weight=2:4
  [ "$(values)" = "$2" ] || fail "$1: expected $2, got $(values)"
}

# The global threshold excludes a tensor with a rule, but not the tensors that equal it.
safetensors three.safetensors "{$(entry a.weight F32 1,4 0 16),$(entry b.weight F32 1,4 16 32),$(entry c.weight F32 1,4 32 48)}" \
  "$w$w$F1$F1$F1$F1"
prunes three.safetensors '0 0 4 4
2 3 4 4
0 0 0 0'
expect_out 'one threshold: 4 of the 8 weights of 2 tensors removed'
expect_out "'a.weight' and 'b.weight' are probably tied"
safetensors two.safetensors "{$(entry a.weight F32 1,4 0 16),$(entry b.weight F32 1,4 16 32)}" "$w$w"
prunes two.safetensors '0 0 4 4
0 0 4 4'
expect_out 'one threshold: 2 of the 4 weights of 1 tensors removed'
# Equal tensors without a rule count once.
safetensors equal.safetensors "{$(entry a.weight F32 1,4 0 16),$(entry b.weight F32 1,4 16 32),$(entry c.weight F32 1,4 32 48)}" \
  "$w$w$w"
prunes equal.safetensors '0 0 4 4
0 0 4 4
0 0 4 4'
expect_out 'one threshold: 2 of the 4 weights of 1 tensors removed'

# A tensor that several patterns match counts once.
safetensors bias.safetensors "{$(entry a.weight F32 1,4 0 16),$(entry a.bias F32 4 16 32)}" "$w$w"
for include in '' '--include re:^a'; do
  expect_exit 0 sten-prune bias.safetensors --dry-run --sparsity 0.5 $include --rule '*=2:4' --rule 'a*=2:4' --json
  expect_out '"skipped": 1,'
  expect_out '1 matched by --include or a rule cannot be pruned'
done
