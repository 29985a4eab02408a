# SPDX-License-Identifier: Apache-2.0
# bcsr: only tensors with pruned positions inside of stored blocks have a mask.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
. "$(dirname "$0")/_sharded.sh"

cd "$T"
# a: one of two blocks is kept whole; b: half of its only block is pruned; c: nothing is kept.
safetensors in.safetensors "{$(entry a F32 2,3 0 24),$(entry b F32 2,2 24 40),$(entry c F32 1,1 40 44)}" \
  "$F1$F2$F0$F3$F4$F0$F1$F0$F0$F2$F0"
expect_exit 0 sten-convert in.safetensors -o bcsr.safetensors --to bcsr:h=2,w=2 --include '*'
header bcsr.safetensors >text
for part in a::ptr a::col a::values b::ptr b::col b::values b::mask c::values; do
  grep -qF "\"$part\":" text || fail "there is no $part"
done
for part in a::mask c::mask; do
  if grep -qF "\"$part\":" text; then fail "$part is there"; fi
done
for to in dense csr bitmask; do
  expect_exit 0 sten-convert bcsr.safetensors -o other.safetensors --to $to --force
  expect_exit 0 sten-convert other.safetensors -o back.safetensors --to bcsr:h=2,w=2 --force --include '*'
  data back.safetensors >got
  data bcsr.safetensors | cmp - got || fail "another bcsr by way of $to"
done
# Untouched, it is copied with its mask or without.
expect_exit 0 sten-convert bcsr.safetensors -o other.safetensors --to masked --include c --force
header other.safetensors | grep -qF '"b::mask":' || fail 'a mask was not copied'

# An index names the parts that there are and no others.
make_sharded "$T/in"
expect_exit 0 sten-prune in -o pruned --structure nm:n=2,m=4 --to bcsr:h=1,w=4 -q
expect_exit 0 sten-convert pruned -o whole --to bcsr:h=1,w=1 -q
grep -q '::mask": "model.sten-0000' pruned/model.sten.safetensors.index.json ||
  fail 'the index does not name the masks'
if grep -q '::mask"' whole/*.json; then fail 'the index names masks that there are not'; fi
expect_exit 0 sten-energy whole --against in --min-energy 0.5

# A tensor that a reader would take for the mask is in the way, whether there will be one or not.
safetensors clash.safetensors "{$(entry a F32 2,2 0 16),$(entry a::mask U8 1 16 17)}" "$F1$F2$F3$F4"'\x01'
expect_exit 1 sten-convert clash.safetensors -o o --to bcsr:h=2,w=2 --include a
expect_err "'a::mask' collides with the parts of the sparse tensor 'a'"
expect_exit 2 sten-convert in.safetensors -o o --to bcsr:h=2
expect_err "missing 'w'"
