# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2120
# The arguments [MODEL] OUT of prune.sh and calibrate.sh, and sten-prune with the options of the environment.
out=${2:-${1:?expected [MODEL] OUT}}
. "$(dirname "$0")/model.sh" "${2:+$1}"
structure=(${STRUCTURE:+--structure "$STRUCTURE"} ${SPARSITY:+--sparsity "$SPARSITY"})
[ ${#structure[@]} -gt 0 ] || structure=(--structure 2:4)

# prune OPTION...: writes the pruned model to the directory OUT.
prune() { sten-prune "$MODEL" -o "${out%/}/" ${INCLUDE:+--include "$INCLUDE"} "${structure[@]}" "$@"; }
