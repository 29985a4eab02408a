#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prunes a model by the inputs of its layers on a text, into the directory OUT. Needs sten-prune in PATH.
#
#   recipes/llm/calibrate.sh [MODEL] OUT    as prune.sh
# In the environment: those of prune.sh; METHOD (admm), TEXT (recipes/data/tinyshakespeare.txt without its first 20,000
# characters), SAMPLES (64) windows of WINDOW (512) tokens
. "$(dirname "$0")/pruning.sh"
. "$here/text.sh"
prune --method "${METHOD:-admm}" --calibrate "$TEXT" --calibrate-samples "${SAMPLES:-64}" --calibrate-window "$WINDOW"
