#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ends with 3 if the perplexity of a text is above a limit, and with 0 if it is not. Needs sten-run in PATH.
#
#   recipes/llm/gate.sh MODEL MAX_PERPLEXITY    MODEL: as for evaluate.sh
# In the environment: HELD_OUT (the first 20,000 characters of recipes/data/tinyshakespeare.txt), WINDOW (512), STRIDE
# (half of WINDOW)
limit=${2:?expected MODEL MAX_PERPLEXITY}
. "$(dirname "$0")/model.sh" "$1"
. "$here/text.sh"
sten-run "$MODEL" "${held_out_windows[@]}" --max-perplexity "$limit"
