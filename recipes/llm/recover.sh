#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains a pruned model to agree with the dense one again; its zeros stay. Needs sten-train in PATH. If it is
# interrupted, the same command continues.
#
#   recipes/llm/recover.sh PRUNED OUT    PRUNED: a directory, as prune.sh and calibrate.sh write it
# In the environment: MODEL, the dense model that was pruned (SmolLM2-135M-Instruct); STEPS (500); INCLUDE, the pruned weights
# (*layers.*.weight); LORA, the rank of low-rank adapters, which are trained instead of the weights; TEXT
# (recipes/data/tinyshakespeare.txt without its first 20,000 characters); WINDOW (512)
pruned=${1:?expected PRUNED OUT} out=${2:?expected PRUNED OUT}
. "$(dirname "$0")/model.sh" "${MODEL-}"
. "$here/text.sh"
[ -d "$pruned" ] || { echo "$0: $pruned: expected a directory" >&2 && exit 2; }
steps=${STEPS:-500} include=${INCLUDE:-*layers.*.weight}
changes=(
  --set model.config="$pruned" --set model.weights="$pruned" --set distillation.teacher="$MODEL"
  --set data.text="$TEXT" --set data.vocabulary="$pruned" --set data.window="$WINDOW"
  --set steps="$steps" --set rate.warmup=$((steps / 10))
)
if [ -n "${LORA-}" ]; then
  changes+=(--set sparsity=null --set lora.target="$include" --set lora.rank="$LORA")
else
  changes+=(--set sparsity.0.target="$include")
fi
sten-train "$here/recover.json" --out "$out" --resume "${changes[@]}"
