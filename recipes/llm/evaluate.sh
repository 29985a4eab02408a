#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Perplexity of a text, dense and pruned to 2:4. Needs sten-run and sten-prune in PATH.
#
#   recipes/llm/evaluate.sh [MODEL]    a directory of transformers or a GGUF file; default: SmolLM2-135M-Instruct
# In the environment: HELD_OUT (the first 20,000 characters of recipes/data/tinyshakespeare.txt), WINDOW (512), STRIDE
# (half of WINDOW), INCLUDE (the feed-forward weights of layer 3)
. "$(dirname "$0")/model.sh"
. "$here/text.sh"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
echo 'dense:'
sten-run "$MODEL" "${held_out_windows[@]}"
sten-prune "$MODEL" -o "$work/pruned/" --structure 2:4 --include "${INCLUDE:-model.layers.3.mlp.*.weight}" -q
echo 'pruned to 2:4:'
sten-run "$work/pruned" "${held_out_windows[@]}"
sten-run "$work/pruned" --prompt 'The capital of France is' --generate 10
