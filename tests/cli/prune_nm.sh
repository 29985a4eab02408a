# SPDX-License-Identifier: Apache-2.0
# 2:4 pruning along rows, stored as n:m.
. "$(dirname "$0")/_lib.sh"

cd "$T"
expect_exit 0 sten-prune "$MODEL" -o nm.safetensors --structure nm:n=2,m=4 --to nm
golden prune_nm
# --to alone implies the structure, and a --sparsity that agrees with it is accepted.
sten-prune "$MODEL" -o to.safetensors --to nm:n=2,m=4 -q >/dev/null
cmp to.safetensors nm.safetensors || fail '--to nm:n=2,m=4 differs from --structure and --to nm'
sten-prune "$MODEL" -o both.safetensors --to nm:n=2,m=4 --sparsity 0.5 -q >/dev/null
cmp both.safetensors nm.safetensors || fail '--sparsity 0.5 changes the bytes'
# The pruned tensors can be stored in any layout that can represent them.
sten-prune "$MODEL" -o masked.safetensors --structure nm:n=2,m=4 --to masked -q >/dev/null
expect_exit 0 sten-convert masked.safetensors -o again.safetensors --to nm:n=2,m=4 --lossless
expect_exit 0 sten-energy again.safetensors --against nm.safetensors --summary
expect_out '50.00 %  1.0000'
