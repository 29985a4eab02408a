# SPDX-License-Identifier: Apache-2.0
# Models masked by multiplication have -0.0 at pruned positions, which counts as zero everywhere.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"
N0='\x00\x00\x00\x80'
w="$F1$N0$F2$N0$N0$F3$F0$F4"
safetensors masked.safetensors "{$(entry w.weight F32 2,4 0 32)}" "$w"
safetensors original.safetensors "{$(entry w.weight F32 2,4 0 32)}" "$F1$F1$F2$F2$F3$F3$F4$F4"

expect_exit 0 sten-energy masked.safetensors --against original.safetensors --min-sparsity 0.5 \
  --require '*=nm:n=2,m=4' --json
expect_out '"nnz": 4,'
expect_out '"sparsity": 0.5,'
expect_out '"energy": 0.5,'

# n:m stores the nonzeros; dropping zeros is lossless, whatever their sign.
expect_exit 0 sten-convert masked.safetensors -o nm.safetensors --to nm:n=2,m=4 --lossless --json
expect_out '"stored": 4,'
expect_out '"fit": "lossless"'
expect_exit 0 sten-energy nm.safetensors --against original.safetensors --json
expect_out '"energy": 0.5,'

# Layouts that can store any position keep -0.0 with its sign, as docs/formats.md says.
for to in csr csc coo ell bcsr:h=4,w=4 bitmask masked; do
  expect_exit 0 sten-convert masked.safetensors -o sparse.safetensors --to $to --force --json
  expect_out '"stored": 7,'
  expect_out '"sparsity": 0.5,'
  expect_exit 0 sten-convert sparse.safetensors -o dense.safetensors --to dense --force
  printf '%b' "$w" >wanted
  data dense.safetensors | cmp - wanted || fail "$to lost the sign of a zero"
  expect_exit 0 sten-energy sparse.safetensors --json
  expect_out '"nnz": 7,'
  expect_out '"sparsity": 0.5,'
done

# The energy is correct even if the sums of magnitudes are beyond the range of F64.
huge='\xff\xff\xff\xff\xff\xff\xef\x7f'
safetensors in.safetensors "{$(entry w.weight F64 2,2 0 32)}" "$huge$huge$huge$huge"
expect_exit 0 sten-prune in.safetensors -o half.safetensors --sparsity 0.5 --min-energy 0.5 --json
expect_out '"energy": 0.5,'
expect_exit 0 sten-energy half.safetensors --against in.safetensors --min-energy 0.5 --json
expect_out '"energy": 0.5,'
