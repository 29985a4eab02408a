# SPDX-License-Identifier: Apache-2.0
# Sparse vectors, and tensors without elements.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

# A mask can make a vector sparse. Layouts of rows and columns cannot store a vector, so no size in
# them is reported.
safetensors in.safetensors "{$(entry a.weight F32 2,2 0 16),$(entry a.bias F32 4 16 32)}" "$F1$F2$F3$F4$F1$F0$F2$F3"
safetensors mask.safetensors "{$(entry a.bias BOOL 4 0 4)}" '\x01\x00\x01\x00'
expect_exit 0 sten-prune in.safetensors -o out.safetensors --mask mask.safetensors --to bitmask -q
expect_exit 0 sten-energy out.safetensors --against in.safetensors --json
expect_out '"energy": 0.5'
[ "$(grep -c '"bytes_bitmask"' out)" = 3 ] ||
  fail 'bytes_bitmask is missing for the vector or the total'
[ "$(grep -c '"bytes_csr"' out)" = 1 ] || fail 'bytes_csr is not reported for the matrix only'
for to in csr coo; do
  expect_exit 0 sten-convert out.safetensors -o $to.safetensors --to $to
  expect_out "converted 1 of 2 tensors to $to"
  expect_out 'left alone: 1 of rank below 2'
  expect_exit 0 sten-energy --diff out.safetensors $to.safetensors
done
expect_exit 0 sten-convert out.safetensors -o dense.safetensors --to dense -q
expect_exit 0 sten-energy --diff out.safetensors dense.safetensors
# A file whose only tensor is a vector cannot be converted to csr.
safetensors vector.safetensors "{$(entry a.bias F32 4 0 16)}" "$F1$F0$F2$F3"
expect_exit 0 sten-prune vector.safetensors -o sparse.safetensors --mask mask.safetensors --to bitmask -q
expect_exit 0 sten-energy sparse.safetensors
expect_exit 1 sten-convert sparse.safetensors -o never.safetensors --to csr
expect_err 'expected rank >= 2'

# No energy is reported for a tensor without elements.
safetensors empty.safetensors "{$(entry a.weight F32 14,0 0 0)}" ''
expect_exit 0 sten-prune empty.safetensors -o none.safetensors --sparsity 0.5 --json
! grep -q '"energy":' out || fail 'sten-prune reports an energy'
expect_exit 0 sten-energy none.safetensors --against empty.safetensors --json
! grep -q '"energy":' out || fail 'sten-energy reports an energy'
