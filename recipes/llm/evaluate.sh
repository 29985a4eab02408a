#!/usr/bin/env bash
# Perplexity of the first 20,000 characters of a text, dense and pruned to 2:4. Needs sten-run and sten-prune in PATH.
#
#   recipes/llm/evaluate.sh [MODEL]    a directory of transformers or a GGUF file; default: SmolLM2-135M-Instruct
# In the environment: TEXT (recipes/data/tinyshakespeare.txt), WINDOW (512), STRIDE (256), INCLUDE (the feed-forward
# weights of layer 3)
. "$(dirname "$0")/model.sh"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
head -c 20000 "${TEXT:-$here/../data/tinyshakespeare.txt}" >"$work/text.txt"
windows=(--data "$work/text.txt" --window "${WINDOW:-512}" --stride "${STRIDE:-256}")
echo 'dense:'
sten-run "$MODEL" "${windows[@]}"
sten-prune "$MODEL" -o "$work/pruned/" --structure 2:4 --include "${INCLUDE:-model.layers.3.mlp.*.weight}" -q
echo 'pruned to 2:4:'
sten-run "$work/pruned" "${windows[@]}"
sten-run "$work/pruned" --prompt 'The capital of France is' --generate 10
