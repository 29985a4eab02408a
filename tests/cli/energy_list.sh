# SPDX-License-Identifier: Apache-2.0
# --list prints every tensor of a file, whatever its dtype.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

safetensors in.safetensors "{$(entry l.10.weight F32 2,2 0 16),$(entry l.2.weight F32 1,2 16 24),
  $(entry scale F32 '' 24 28),$(entry ids I64 2 28 44),$(entry empty F16 0,3 44 44),
  $(entry mask BOOL 4 44 48),$(entry packed F4 2 48 49)}" \
  "$F1$F0$F3\x00\x00\x00\x80$F1$F2$F3\x01\x00\x00\x00\x00\x00\x00\x00$(repeat 8 '\x00')\x01\x00\x00\x01\x21"
expect_exit 0 sten-convert in.safetensors -o sparse.safetensors --to csr --include l.10.weight -q
expect_exit 0 sten-energy --list sparse.safetensors
golden energy_list
expect_exit 0 sten-energy --list sparse.safetensors --json
expect_out '"layout": "csr"'
grep -q '"name": "packed"' out || fail 'the packed F4 tensor is not listed'
grep -A9 '"name": "packed"' out | grep -q sparsity && fail 'the packed F4 tensor has a sparsity'
expect_exit 0 sten-energy --list sparse.safetensors --include 'l.*,scale' --exclude l.2.weight --json
[ "$(grep -c '"shape": \[' out)" = 2 ] || fail 'expected the 2 tensors l.10.weight and scale'
expect_exit 2 sten-energy --list sparse.safetensors --include nothing
expect_err "--include 'nothing' matches none of the 7 tensors"
expect_exit 0 sten-energy --list --summary <sparse.safetensors -
expect_out 'total'

# With several inputs each row names its file.
expect_exit 0 sten-energy --list sparse.safetensors in.safetensors --report both.csv
expect_out '14 of 14 tensors; the files have '
grep -q '^l.2.weight,1x2,F32,dense,8,0,in.safetensors' both.csv ||
  fail 'both.csv lacks the row of l.2.weight with the name of its file'
echo broken >bad.safetensors
expect_exit 1 sten-energy --list bad.safetensors in.safetensors
expect_one_line_err
expect_exit 1 sten-energy --list bad.safetensors in.safetensors --keep-going --json -q
expect_err 'sten-energy: bad.safetensors: has 7 bytes'
expect_out '"reason": "1 of 2 inputs failed"'
expect_out '"name": "ids"'
for flags in '--against in.safetensors' '--min-sparsity 0' '--require *=2:4' --diff --sweep '--axis 0'; do
  expect_exit 2 sten-energy --list in.safetensors $flags
  expect_one_line_err
done
