# SPDX-License-Identifier: Apache-2.0
# Case 74: --device cuda without a usable device: one line, exit 1, nothing read or written.
. "$(dirname "$0")/_lib.sh"

cd "$T"
# Machines with a device hide it.
CUDA_VISIBLE_DEVICES=
export CUDA_VISIBLE_DEVICES
for program in 'sten-prune M -o out.safetensors --sparsity 0.5' \
  'sten-convert M -o out.safetensors --to bitmask' 'sten-energy M' 'sten-energy M --sweep --include bert.encoder.layer.0.attention.self.query.weight'; do
  # shellcheck disable=SC2086
  set -- $program
  name=$1
  shift 2
  expect_exit 1 "$name" "$MODEL" "$@" --device cuda
  expect_one_line_err
  expect_err '--device cuda: '
  held 74 expect_err '; use --device cpu'
  [ ! -s "$T/out" ] || fail 'something was printed'
  [ ! -e out.safetensors ] || fail 'something was written'
  expect_exit 2 "$name" "$MODEL" "$@" --device gpu
  expect_one_line_err
  expect_exit 0 "$name" "$MODEL" "$@" --device cpu
  rm -f out.safetensors
done
for bench in 'convert --shape 16x16x16' 'gemm --shape 16x16x16' step; do
  # shellcheck disable=SC2086
  expect_exit 1 sten-bench $bench --device cuda -o bench.json
  expect_one_line_err
  [ ! -e bench.json ] || fail 'something was written'
done
expect_exit 2 sten-bench model --device cuda

# A model runs on it or not at all; what is for the CPU alone is refused first.
set -- "$STEN_SOURCE/recipes/models/shakespeare-bert" --fill 'To be, or n[MASK]t to be'
expect_exit 1 sten-run "$@" --device cuda
expect_one_line_err
expect_err '--device cuda: '
[ ! -s "$T/out" ] || fail 'something was printed'
expect_exit 0 sten-run "$@" --device cpu
set -- "$STEN_SOURCE/recipes/models/shakespeare-bert" --data "$STEN_SOURCE/recipes/shakespeare-bert-dense.json"
expect_exit 1 sten-run "$@" --device cuda -o y.npy
expect_one_line_err
[ ! -e y.npy ] || fail 'something was written'
expect_exit 2 sten-run "$@" --device gpu
for option in '--precision bf16' '--layouts auto' '--generate 3'; do
  # shellcheck disable=SC2086
  expect_exit 2 sten-run "$@" $option --device cuda
  expect_one_line_err
  expect_err 'needs --device cpu'
done

# Training begins nothing, either; nor does it say what a recipe comes to.
expect_exit 1 sten-train "$STEN_SOURCE/recipes/digits-mlp-dense.json" --out run --device cuda
expect_one_line_err
expect_err '--device cuda: '
[ ! -e run ] || fail 'a run was begun'
expect_exit 1 sten-train "$STEN_SOURCE/recipes/digits-mlp-dense.json" --dry-run --device cuda
expect_one_line_err

# Tests that take a device are skipped, which is not passed.
expect_exit 77 env STEN_TEST_DEVICE=cuda sten_tests
expect_out 'skipped: '

# docs/gpu.md shows what is said, of a build with CUDA or without.
expect_exit 1 sten-convert "$MODEL" -o small.safetensors --to bitmask --device cuda
grep -qxF -e "$(cat err)" "$STEN_SOURCE/docs/gpu.md" || fail 'docs/gpu.md shows another line'
