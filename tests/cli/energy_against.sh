# SPDX-License-Identifier: Apache-2.0
# sten-energy --against ORIGINAL reports the energy per tensor and in total.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

cd "$T"
sten-prune "$MODEL" -o pruned.safetensors --to nm:n=1,m=4 -q >/dev/null
expect_exit 0 sten-energy pruned.safetensors --against "$MODEL"
golden energy_against
# A model compared with itself has energy 1. Without --against no energy is reported.
expect_exit 0 sten-energy "$MODEL" --against "$MODEL" --summary
expect_out '0.00 %  1.0000'
expect_exit 0 sten-energy pruned.safetensors --summary
expect_out 'energy needs the original: --against FILE'
grep -qw 'energy  ' out && fail 'an energy is reported without --against'

# An unpruned value changed, as in training: energy uses the original magnitudes, l1_ratio the new
# ones.
safetensors old.safetensors "{$(entry a.weight F32 1,4 0 16)}" "$F1$F2$F3$F4"
safetensors new.safetensors "{$(entry a.weight F32 1,4 0 16)}" "$F0$F0$F3$F3"
expect_exit 0 sten-energy new.safetensors --against old.safetensors --json
expect_out '"energy": 0.7,'
expect_out '"l1_ratio": 0.6,'
