# SPDX-License-Identifier: Apache-2.0
# bcsr: only tensors with pruned positions inside stored blocks have a mask.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
. "$(dirname "$0")/_sharded.sh"

cd "$T"
# a: one of two blocks is stored, without zeros; b: half of its only block is 0; c is 0.
safetensors in.safetensors "{$(entry a F32 2,3 0 24),$(entry b F32 2,2 24 40),$(entry c F32 1,1 40 44)}" \
  "$F1$F2$F0$F3$F4$F0$F1$F0$F0$F2$F0"
expect_exit 0 sten-convert in.safetensors -o bcsr.safetensors --to bcsr:h=2,w=2 --include '*'
header bcsr.safetensors >text
for part in a::ptr a::col a::values b::ptr b::col b::values b::mask c::values; do
  grep -qF "\"$part\":" text || fail "the header lacks $part"
done
for part in a::mask c::mask; do
  if grep -qF "\"$part\":" text; then fail "the header has $part, which is not needed"; fi
done
for to in dense csr bitmask; do
  expect_exit 0 sten-convert bcsr.safetensors -o other.safetensors --to $to --force
  expect_exit 0 sten-convert other.safetensors -o back.safetensors --to bcsr:h=2,w=2 --force --include '*'
  data back.safetensors >got
  data bcsr.safetensors | cmp - got || fail "the data changed in the conversion to $to and back"
done
# A tensor that is not selected is copied, with its mask if it has one.
expect_exit 0 sten-convert bcsr.safetensors -o other.safetensors --to masked --include c --force
header other.safetensors | grep -qF '"b::mask":' || fail 'b::mask was not copied'

# The index of shards names exactly the parts that exist.
make_sharded "$T/in"
expect_exit 0 sten-prune in -o pruned --structure nm:n=2,m=4 --to bcsr:h=1,w=4 -q
expect_exit 0 sten-convert pruned -o whole --to bcsr:h=1,w=1 -q
grep -q '::mask": "model.sten-0000' pruned/model.sten.safetensors.index.json ||
  fail 'the index does not name the masks'
if grep -q '::mask"' whole/*.json; then fail 'the index names masks that do not exist'; fi
expect_exit 0 sten-energy whole --against in --min-energy 0.5

# A tensor with the name of the mask is an error, even if no mask would be stored.
safetensors clash.safetensors "{$(entry a F32 2,2 0 16),$(entry a::mask U8 1 16 17)}" "$F1$F2$F3$F4"'\x01'
expect_exit 1 sten-convert clash.safetensors -o o --to bcsr:h=2,w=2 --include a
expect_err "'a::mask' collides with the parts of the sparse tensor 'a'"
expect_exit 2 sten-convert in.safetensors -o o --to bcsr:h=2
expect_err "missing 'w'"
