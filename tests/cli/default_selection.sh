# SPDX-License-Identifier: Apache-2.0
# Without patterns, programs select the weights of layers by name, shape and ties.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

cd "$T"
# A layer that is tied to an embedding, one of the same shape that is not, and a router.
safetensors in.safetensors "{$(entry embed.weight F32 1,2 0 8),$(entry layers.0.out.weight F32 1,2 8 16),
  $(entry layers.0.other.weight F32 1,2 16 24),$(entry layers.0.gate.weight F32 1,4 24 40),
  $(entry layers.0.bias F32 2 40 48),$(entry norm1.linear.weight F32 2,1 48 56),
  $(entry steps I64 1,1 56 64)}" \
  "$F1$F2$F1$F2$F2$F1$F1$F2$F3$F4$F1$F2$F3$F4$(repeat 2 "$F0")"
left='left alone: 1 embedding, 1 tied to an embedding, 1 router, 1 of rank below 2, 1 not floating point'

# A tied layer is recognized by its bytes, not by its name.
expect_exit 0 sten-prune in.safetensors --dry-run --sparsity 0.5 -v
expect_out 'pruned 2 of 7 tensors'
expect_out "$left"
[ "$(grep -c 'selected ' err)" = 2 ] || fail "expected 2 selected tensors"
expect_err 'sten-prune: selected layers.0.other.weight'
expect_err 'sten-prune: selected norm1.linear.weight'
expect_err 'sten-prune: left alone embed.weight: embedding'
expect_err 'sten-prune: left alone layers.0.out.weight: tied to an embedding'
expect_err 'sten-prune: left alone layers.0.gate.weight: router'
expect_err 'sten-prune: left alone layers.0.bias: rank below 2'
expect_err 'sten-prune: left alone steps: not floating point'

# The other programs select the same tensors.
for command in 'sten-convert --to bitmask --dry-run' sten-energy 'sten-energy --sweep'; do
  expect_exit 0 $command in.safetensors -v
  expect_out "$left"
  expect_err 'left alone layers.0.out.weight: tied to an embedding'
done

# Tensors left alone by --exclude and rules are counted, too. With --include nothing is counted.
expect_exit 0 sten-prune in.safetensors --dry-run --sparsity 0.5 --exclude '*other*' \
  --rule 'norm*=keep' --rule embed.weight=nm:n=1,m=2 -v
expect_out 'left alone: 1 tied to an embedding, 1 router, 1 of rank below 2, 1 not floating point, 1 excluded, 1 kept by a rule'
expect_err 'left alone layers.0.other.weight: excluded'
expect_exit 0 sten-prune in.safetensors --dry-run --sparsity 0.5 --include '*gate*'
grep -q 'left alone' out && fail 'tensors that --include does not name are counted as left alone'
true
