# SPDX-License-Identifier: Apache-2.0
# 1:10:4 pruning: one of ten weights is kept, in groups of four equal patterns.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

cd "$T"
expect_exit 0 sten-prune "$MODEL" -o nmg.safetensors --structure nmg:n=1,m=10,g=4 --to nmg
golden prune_nmg
expect_exit 0 sten-energy nmg.safetensors --against "$MODEL" --summary
expect_out '90.00 %  0.2292'
# sten-convert --to nmg prunes to the structure of the layout.
expect_exit 0 sten-convert "$MODEL" -o converted.safetensors --to nmg:n=1,m=10,g=4 --summary
expect_out '25 of them were pruned to it'
data converted.safetensors >got
data nmg.safetensors | cmp - got || fail 'sten-convert --to nmg and sten-prune differ'
