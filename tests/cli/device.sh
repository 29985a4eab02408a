# SPDX-License-Identifier: Apache-2.0
# --device cuda without a usable device gives one error line and exit code 1 before anything is read
# or written (case 74 of docs/bad_input.md).
. "$(dirname "$0")/_lib.sh"

cd "$T"
# Hides the device from the programs on a machine that has one.
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
  [ ! -s "$T/out" ] || fail 'the program printed to standard output'
  [ ! -e out.safetensors ] || fail 'out.safetensors was written'
  expect_exit 2 "$name" "$MODEL" "$@" --device gpu
  expect_one_line_err
  expect_exit 0 "$name" "$MODEL" "$@" --device cpu
  rm -f out.safetensors
done
for bench in 'convert --shape 16x16x16' 'gemm --shape 16x16x16' step; do
  # shellcheck disable=SC2086
  expect_exit 1 sten-bench $bench --device cuda -o bench.json
  expect_one_line_err
  [ ! -e bench.json ] || fail 'bench.json was written'
done
expect_exit 2 sten-bench model --device cuda

# Without the device a model does not run. Options that need the CPU are rejected first.
set -- "$STEN_SOURCE/recipes/models/shakespeare-bert" --fill 'To be, or n[MASK]t to be'
expect_exit 1 sten-run "$@" --device cuda
expect_one_line_err
expect_err '--device cuda: '
[ ! -s "$T/out" ] || fail 'the program printed to standard output'
expect_exit 0 sten-run "$@" --device cpu
set -- "$STEN_SOURCE/recipes/models/shakespeare-bert" --data "$STEN_SOURCE/recipes/shakespeare-bert-dense.json"
expect_exit 1 sten-run "$@" --device cuda -o y.npy
expect_one_line_err
[ ! -e y.npy ] || fail 'y.npy was written'
expect_exit 2 sten-run "$@" --device gpu
for option in '--precision bf16' '--layouts auto' '--generate 3'; do
  # shellcheck disable=SC2086
  expect_exit 2 sten-run "$@" $option --device cuda
  expect_one_line_err
  expect_err 'needs --device cpu'
done

# sten-train fails before it creates the output directory; --dry-run fails, too.
expect_exit 1 sten-train "$STEN_SOURCE/recipes/digits-mlp-dense.json" --out run --device cuda
expect_one_line_err
expect_err '--device cuda: '
[ ! -e run ] || fail 'the output directory of the run was created'
expect_exit 1 sten-train "$STEN_SOURCE/recipes/digits-mlp-dense.json" --dry-run --device cuda
expect_one_line_err

# Tests that need a device are reported as skipped, not as passed.
expect_exit 77 env STEN_TEST_DEVICE=cuda sten_tests
expect_out 'skipped: '

# docs/gpu.md shows the error line, of builds with and without CUDA.
expect_exit 1 sten-convert "$MODEL" -o small.safetensors --to bitmask --device cuda
grep -qxF -e "$(cat err)" "$STEN_SOURCE/docs/gpu.md" || fail 'docs/gpu.md lacks the error line'
