# SPDX-License-Identifier: Apache-2.0
# Magnitude pruning of a trained model to 90 % sparsity.
. "$(dirname "$0")/_lib.sh"

cd "$T"
expect_exit 0 sten-prune "$MODEL" -o pruned.safetensors --sparsity 0.9
golden prune_magnitude
grep -qE '^sten-prune: [0-9.]+ s, peak memory [0-9.]+ MB$' err || fail 'time and memory are missing'
# sten-energy reports the same figures for the output as the table of sten-prune.
expect_exit 0 sten-energy pruned.safetensors --against "$MODEL" --summary
expect_out '125440   90.00 %  0.2593'

# --summary omits the rows of the tensors.
expect_exit 0 sten-prune "$MODEL" --dry-run --sparsity 0.9 --summary
expect_out 'total    1254400  125440   90.00 %  0.2593'
grep -q 'encoder' out && fail '--summary lists tensors'

# The other methods.
expect_exit 0 sten-prune "$MODEL" -o random.safetensors --sparsity 0.9 --method random --summary
grep -qE '^total +1254400 +12[0-9]{4} +(89|90)\.[0-9]+ % +0\.(09|10)' out ||
  fail 'random: expected about 90 % sparsity and energy 0.1'
expect_exit 0 sten-prune "$MODEL" -o threshold.safetensors --method threshold --at 0.05 --summary
grep -q '^total' out || fail 'the table lacks the row total'

# Limits: --sparsity 0 prunes nothing; --sparsity 1 prunes everything and needs --force to write it.
expect_exit 0 sten-prune "$MODEL" -o none.safetensors --sparsity 0 --summary
expect_out '0.00 %  1.0000'
expect_exit 2 sten-prune "$MODEL" -o all.safetensors --sparsity 1 --to bitmask
expect_err '--sparsity 1 removes every weight of the selected tensors (--force allows this)'
expect_exit 0 sten-prune "$MODEL" --dry-run --sparsity 1
expect_exit 0 sten-prune "$MODEL" -o all.safetensors --sparsity 1 --to bitmask --summary --force
expect_out '100.00 %  0.0000'
