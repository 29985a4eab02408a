# SPDX-License-Identifier: Apache-2.0
# sten-energy with several inputs prints one line per file.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

w="{$(entry a.weight F32 2,2 0 16)}"
safetensors old.safetensors "$w" "$F1$F2$F3$F4"
safetensors half.safetensors "$w" "$F0$F0$F3$F4"
safetensors most.safetensors "$w" "$F0$F0$F0$F4"
expect_exit 0 sten-energy half.safetensors most.safetensors old.safetensors
golden energy_batch
expect_exit 0 sten-energy half.safetensors most.safetensors --against old.safetensors --json -v
expect_out '"inputs": ['
expect_out '"name": "half.safetensors",'
expect_out '"energy": 0.7,'
expect_out '"energy": 0.4,'
expect_out '"bytes_csr": '
expect_err 'sten-energy: most.safetensors: selected a.weight'
grep -q '"total"' out && fail 'a total over several files is reported'

# Each file is checked separately, and the error of a failed check names the file.
expect_exit 3 sten-energy half.safetensors most.safetensors --against old.safetensors --min-energy 0.5
expect_err 'sten-energy: most.safetensors: energy 0.400000 is below --min-energy 0.5'
expect_one_line_err
expect_out '2 inputs: 1 check failed, 1 done'
expect_exit 3 sten-energy most.safetensors half.safetensors old.safetensors --min-sparsity 0.75 --keep-going --json
expect_err 'sten-energy: half.safetensors: sparsity 0.500000 is below --min-sparsity 0.75'
expect_err 'sten-energy: old.safetensors: sparsity 0.000000 is below --min-sparsity 0.75'
expect_out '"reason": "2 check failed, 1 done"'
expect_exit 3 sten-energy most.safetensors old.safetensors --require '*=1:2'
expect_err "sten-energy: old.safetensors: 1 of the required patterns is violated; 'a.weight'"

# Files that cannot be read or do not match --against or --include.
echo broken >bad.safetensors
expect_exit 1 sten-energy bad.safetensors half.safetensors --threads 1
expect_out '2 inputs: 1 failed, 1 not run'
expect_exit 1 sten-energy bad.safetensors half.safetensors missing --keep-going
expect_out '3 inputs: 1 done, 2 failed'
expect_err 'sten-energy: missing: '
safetensors b.safetensors "{$(entry b.weight F32 2,2 0 16)}" "$F1$F2$F3$F4"
expect_exit 1 sten-energy half.safetensors b.safetensors --against old.safetensors --keep-going -q
expect_err "sten-energy: b.safetensors: old.safetensors: tensor 'b.weight' not found"
safetensors line.safetensors "{$(entry a.weight F32 4 0 16)}" "$F1$F2$F3$F4"
expect_exit 1 sten-energy half.safetensors line.safetensors --include a.weight --keep-going -q
expect_err "sten-energy: line.safetensors: --include 'a.weight': expected rank 2 or more, got 1"

# An error that does not depend on the input is reported once, even with --keep-going.
for flags in '--min-energy 0.5' '--min-sparsity 2' '--require *=csr' '--sweep' '--against -'; do
  expect_exit 2 sten-energy half.safetensors most.safetensors $flags --keep-going
  expect_one_line_err
done
expect_exit 2 sten-energy half.safetensors -
expect_err 'standard input cannot be one of several inputs'
