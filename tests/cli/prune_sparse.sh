# SPDX-License-Identifier: Apache-2.0
# A sparse tensor that is pruned to a lower sparsity keeps its pattern: no position is added.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

expect_exit 0 sten-prune "$MODEL" -o sparse.safetensors --sparsity 0.9 --to bitmask -q
data sparse.safetensors >sparse
kept() { sed -n 's/^total *[0-9]* *\([0-9]*\) .*/\1/p' out; }
# again LAYOUT FLAGS...: pruning again keeps exactly the nonzeros and stores no zeros.
again() {
  expect_exit 0 sten-prune sparse.safetensors -o again.safetensors --to "$@" --force
  [ "$(kept)" = 125440 ] || fail "expected 125440 kept elements, got $(kept)"
  ! grep -q 'are 0' out || fail 'zeros were kept'
  [ "$1" != bitmask ] || data again.safetensors | cmp - sparse || fail 'the nonzeros differ'
}
again bitmask --sparsity 0.5
again csr --sparsity 0
again dense --sparsity 0.5
again bitmask --sparsity 0.5 --scope global
again bitmask --sparsity 0.5 --method movement --scores "$MODEL"
again bitmask --sparsity 0.5 --method movement --scores "$MODEL" --scope global
again bitmask --sparsity 0.5 --method gradient --scores "$MODEL"
again bitmask --method threshold --at 0
# At a higher sparsity, the result is the same as from the dense file.
for how in '' '--scope global' "--method gradient --scores $MODEL"; do
  for in in sparse dense; do
    [ $in = sparse ] || sten-convert sparse.safetensors -o dense.safetensors --to dense -q --force >/dev/null
    expect_exit 0 sten-prune $in.safetensors -o $in.less --sparsity 0.95 $how --to bitmask --force
    [ "$(kept)" = 62720 ] || fail "$in.safetensors $how: expected 62720 kept elements, got $(kept)"
  done
  data sparse.less >less
  data dense.less | cmp - less || fail "$how: the results of the sparse and the dense file differ"
done
# --method random keeps each nonzero with the given probability, and no zeros.
expect_exit 0 sten-prune sparse.safetensors -o random.safetensors --sparsity 0.5 --method random --to bitmask
[ "$(kept)" -gt 61000 ] && [ "$(kept)" -lt 64500 ] || fail "expected about 62720, got $(kept)"
! grep -q 'are 0' out || fail 'zeros were kept at random'

# Block pruning keeps whole blocks, but no empty ones.
expect_exit 0 sten-prune "$MODEL" -o blocks.safetensors --sparsity 0.9 --structure block:h=4,w=4 --to bcsr -q
expect_exit 0 sten-prune blocks.safetensors -o more.safetensors --sparsity 0.5 --structure block:h=4,w=4 --to bcsr
data blocks.safetensors >blocks
data more.safetensors | cmp - blocks || fail 'empty blocks were kept'

# Movement ranks nonzeros before stored zeros, and these before elements that are not stored.
Z='\x00\x00\x00\x80' # -0
M1='\x00\x00\x80\xbf'
safetensors line.safetensors "{$(entry a.weight F32 1,8 0 32)}" "$F1$Z$F2$Z$F3$F0$F4$F0"
safetensors scores.safetensors "{$(entry a.weight F32 1,8 0 32)}" "$M1$F4$F2$F3$F3$F4$F1$F4"
expect_exit 0 sten-convert line.safetensors -o csr.safetensors --to csr -q
by_movement() { # SPARSITY SCOPE VALUES
  expect_exit 0 sten-prune csr.safetensors -o moved.safetensors -f -q --method movement --scores scores.safetensors \
    --to dense --sparsity "$1" --scope "$2"
  [ "$(data moved.safetensors | od -An -tf4 -w32 | tr -s ' ')" = " $3" ] || fail "sparsity $1, scope $2: expected $3, got $(data moved.safetensors | od -An -tf4 -w32)"
}
for scope in local global; do
  by_movement 0.625 $scope '0 0 2 0 3 0 4 0'
  by_movement 0.5 $scope '1 0 2 0 3 0 4 0'
done
by_movement 0.375 local '1 -0 2 0 3 0 4 0'
by_movement 0.25 local '1 -0 2 -0 3 0 4 0'

# Block pruning by gradients does not keep empty blocks, either.
safetensors square.safetensors "{$(entry a.weight F32 4,4 0 64)}" "$(repeat 8 '\x00\x00\x00\x00')$(repeat 8 '\x00\x00\x80\x3f')"
expect_exit 0 sten-convert square.safetensors -o csr.safetensors -f --to csr -q
expect_exit 0 sten-prune csr.safetensors -o blocks.safetensors -f --mask-out mask.safetensors --sparsity 0.25 \
  --structure block:h=2,w=2 --method gradient --scores square.safetensors
[ "$(data mask.safetensors | od -An -v -tx1 -w1 | grep -c 01)" = 8 ] || fail 'empty blocks were kept by --method gradient'

# A dense file does not record which of its zeros were pruned, so unpruned zeros are reported.
expect_exit 0 sten-prune dense.safetensors -o stored.safetensors --sparsity 0.5 --to bitmask
expect_out '501760 unpruned elements were 0 before, and do not count as kept; they are stored'
expect_exit 0 sten-prune dense.safetensors --dry-run --sparsity 0.5
grep -qx '501760 unpruned elements were 0 before, and do not count as kept' out || fail 'unpruned zeros of a dense file are not reported'
expect_exit 0 sten-prune sparse.safetensors --dry-run --structure nm:n=2,m=4
expect_out 'unpruned elements were 0 before'

# Figures of the whole model include tensors that are not selected: 2 of 6 elements become 0, then 3
# with the pruned ones of the sparse tensor a.weight.
safetensors two.safetensors "{$(entry a.weight F32 2,2 0 16),$(entry b.weight F32 1,2 16 24)}" "$F1$F2$F3$F4$F1$F3"
expect_exit 0 sten-prune two.safetensors -o half.safetensors --sparsity 0.5 --include a.weight --to bitmask
expect_out 'whole model: sparsity 33.33 %; tensors 24 B before, 17 B after; file '
expect_exit 0 sten-prune half.safetensors --dry-run --sparsity 0.5 --include b.weight --json
expect_out '"model_elements": 6,'
expect_out '"model_sparsity": 0.5,'
expect_out '"model_bytes_after": 17,'
