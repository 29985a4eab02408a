#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prunes a model by magnitude, in one shot, into the directory OUT. Needs sten-prune in PATH.
#
#   recipes/llm/prune.sh [MODEL] OUT    MODEL: a directory of transformers or a GGUF file; default: SmolLM2-135M-Instruct
# In the environment: STRUCTURE (2:4) or SPARSITY (such as 0.5), INCLUDE (the default selection
# of sten-prune)
. "$(dirname "$0")/pruning.sh"
prune
