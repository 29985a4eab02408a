# SPDX-License-Identifier: Apache-2.0
# sten-energy against the original: energy per tensor and in total.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

cd "$T"
sten-prune "$MODEL" -o pruned.safetensors --to nm:n=1,m=4 -q >/dev/null
expect_exit 0 sten-energy pruned.safetensors --against "$MODEL"
golden energy_against
# Against itself everything is kept; without an original nothing can be said.
expect_exit 0 sten-energy "$MODEL" --against "$MODEL" --summary
expect_out '0.00 %  1.0000'
expect_exit 0 sten-energy pruned.safetensors --summary
expect_out 'energy needs the original: --against FILE'
grep -qw 'energy  ' out && fail 'energy without an original'

# A kept value that was changed since, as by training: how large the new ones are is said beside.
safetensors old.safetensors "{$(entry a.weight F32 1,4 0 16)}" "$F1$F2$F3$F4"
safetensors new.safetensors "{$(entry a.weight F32 1,4 0 16)}" "$F0$F0$F3$F3"
expect_exit 0 sten-energy new.safetensors --against old.safetensors --json
expect_out '"energy": 0.7,'
expect_out '"l1_ratio": 0.6,'
