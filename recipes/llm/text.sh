# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# The texts of the scripts in this folder, read by them after model.sh: TEXT, to calibrate and train, and HELD_OUT, to
# evaluate, in windows of WINDOW tokens (512). Default: two parts of recipes/data/tinyshakespeare.txt, of which HELD_OUT
# has the first 20,000 characters.
WINDOW=${WINDOW:-512}
shakespeare=$here/../data/tinyshakespeare.txt

# part NAME COMMAND...: writes what COMMAND prints of the text to the folder of models, if it is missing there.
part() {
  local file=$models/$1
  [ -e "$file" ] ||
    { mkdir -p "$models" && "${@:2}" "$shakespeare" >"$file.$$" && mv "$file.$$" "$file"; } || return
  echo "$file"
}
TEXT=${TEXT:-$(part shakespeare-training.txt tail -c +20001)}
HELD_OUT=${HELD_OUT:-$(part shakespeare-held-out.txt head -c 20000)}
held_out_windows=(--data "$HELD_OUT" --window "$WINDOW" --stride "${STRIDE:-$((WINDOW / 2))}")
