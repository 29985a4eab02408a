# SPDX-License-Identifier: Apache-2.0
# bitmask: a model with 90 % zeros becomes a small file, without loss.
. "$(dirname "$0")/_lib.sh"

cd "$T"
sten-prune "$MODEL" -o pruned.safetensors --sparsity 0.9 -q >/dev/null
expect_exit 0 sten-convert pruned.safetensors -o bitmask.safetensors --to bitmask
golden convert_bitmask
[ $(($(wc -c <bitmask.safetensors) * 6)) -lt "$(wc -c <pruned.safetensors)" ] ||
  fail 'bitmask.safetensors is not less than a sixth of pruned.safetensors'
# A model without zeros grows, and the output says so.
expect_exit 0 sten-convert "$MODEL" -o big.safetensors --to bitmask --summary
expect_out '25 of them are not smaller than dense'
