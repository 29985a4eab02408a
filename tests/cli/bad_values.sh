# SPDX-License-Identifier: Apache-2.0
# Weights with values that cannot be ranked (NaN, infinity) are rejected; the error names the tensor
# and the index of the value.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

mkdir "$T/work"
cd "$T/work"
refused() { # TEXT COMMAND...
  expect_exit 1 "${@:2}"
  expect_one_line_err
  expect_err "in.safetensors: 'b.weight': element $1"
  [ ! -s "$T/out" ] || fail "'${*:2}' printed to standard output"
  [ ! -e o ] || fail "'${*:2}' left an output"
}
bad() { # DTYPE BYTES DATA: b.weight has 4 elements in BYTES bytes
  safetensors in.safetensors "{$(entry a.weight F32 2,2 0 16),$(entry b.weight $1 2,2 16 $((16 + $2)))}" \
    "$F1$F2$F3$F4$3"
}

for value in '\x00\x00\xc0\x7f' '\x01\x00\x80\xff' '\x00\x00\x80\x7f' '\x00\x00\x80\xff'; do
  bad F32 16 "$F1$F2$value$F4"
  refused 2 sten-prune in.safetensors -o o --sparsity 0.5
  refused 2 sten-prune in.safetensors --dry-run --sparsity 0.5 --method random
  refused 2 sten-prune in.safetensors -o o --method threshold --at 1
  held 62 refused 2 sten-prune in.safetensors -o o --to nm:n=1,m=2
  refused '[1, 0]' sten-convert in.safetensors -o o --to nm:n=1,m=2
  refused '[1, 0]' sten-convert in.safetensors -o o --to nmg:n=1,m=2,g=1
done
bad F16 8 '\x00\x3c\x00\x3c\x00\x7c\x00\x3c'
refused 2 sten-prune in.safetensors -o o --sparsity 0.5
bad BF16 8 '\x80\x3f\x80\x3f\xc0\x7f\x80\x3f'
refused 2 sten-prune in.safetensors -o o --sparsity 0.5
bad F8_E4M3 4 '\x38\x38\x7f\x38'
refused 2 sten-prune in.safetensors -o o --sparsity 0.5
bad F8_E5M2 4 '\x3c\x3c\x7c\x3c'
refused 2 sten-prune in.safetensors -o o --sparsity 0.5
bad F64 32 "$(le64 1 2 0x7ff0000000000000 4 | od -An -v -tx1 | tr -d '\n' | sed 's/ /\\x/g')"
refused 2 sten-prune in.safetensors -o o --sparsity 0.5
# 0x7e is the largest finite value of E4M3 and is accepted.
bad F8_E4M3 4 '\x38\x38\x7e\x38'
expect_exit 0 sten-prune in.safetensors --dry-run --sparsity 0.5

# sten-energy rejects an original with a NaN, since no energy can be computed.
bad F32 16 "$F1$F2"'\x00\x00\xc0\x7f'"$F4"
sed 's/\x7f/\x3f/' in.safetensors >fine.safetensors
refused 2 sten-energy fine.safetensors --against in.safetensors
rm fine.safetensors
# Lossless conversion does not rank values and preserves a NaN. Unselected tensors are not checked.
expect_exit 0 sten-convert in.safetensors -o o --to bitmask --lossless
expect_exit 0 sten-convert o -o back --to dense
data in.safetensors >wanted
data back | cmp - wanted || fail 'a NaN was not preserved by the conversion to bitmask and back'
rm o back wanted
expect_exit 0 sten-prune in.safetensors -o o --sparsity 0.5 --exclude b.weight
rm o

# A part of a sparse tensor would get the name of another tensor: an error before anything is
# written.
safetensors clash.safetensors "{$(entry a.weight F32 2,2 0 16),$(entry a.weight::mask F32 1 16 20)}" \
  "$F1$F2$F3$F4$F1"
for command in 'sten-prune clash.safetensors -o o --sparsity 0.5 --to bitmask' \
  'sten-convert clash.safetensors -o o --to bitmask' \
    'sten-convert clash.safetensors -o o --to csr'; do
  expect_exit 1 $command
  expect_one_line_err
  expect_err ": clash.safetensors: 'a.weight::mask' collides with the parts of the sparse tensor 'a.weight'"
  [ ! -e o ] || fail "'$command' left an output"
done
expect_exit 0 sten-prune clash.safetensors -o o --sparsity 0.5 # a dense tensor has no parts
rm o
# The other tensor can be in another shard, since names are unique in the whole index.
mkdir ../shards
safetensors ../shards/a.safetensors "{$(entry a.weight F32 2,2 0 16)}" "$F1$F2$F3$F4"
safetensors ../shards/b.safetensors "{$(entry a.weight::mask F32 1 0 4)}" "$F1"
echo '{"weight_map":{"a.weight":"a.safetensors","a.weight::mask":"b.safetensors"}}' \
  >../shards/model.safetensors.index.json
expect_exit 1 sten-convert ../shards -o o --to bitmask
expect_one_line_err
expect_err ": ../shards: 'a.weight::mask' collides with the parts of the sparse tensor 'a.weight'"
[ ! -e o ] || fail 'a name clash between shards left an output'
[ "$(ls -A | tr '\n' ' ')" = 'clash.safetensors in.safetensors ' ] ||
  fail "expected only clash.safetensors and in.safetensors, got: $(ls -A)"
