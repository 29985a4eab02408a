#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Documents are at most 120 columns wide but for tables and code, and what they link to and name is
# there: pages, headings and files.
#   scripts/checks/documents.sh [ROOT]        prints every fault; exit 1 if there is one
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}"

# The names by which links reach the headings of a page, as GitHub makes them.
anchors() {
  awk '/^```/ { code = !code } !code && /^#/' "$1" | tr '[:upper:]' '[:lower:]' |
    sed 's/^#* *//; s/[^[:alnum:] _-]//g; s/ /-/g'
}
# Files of a page: with a folder and an ending of code, and all names in backticks that begin with
# a folder of ours. NAME, FAMILY, ISA and ... stand for any; a name and a colon are the title of code.
named() {
  text=$(grep -vE '#include <|^`[^`]+`:$' "$1")
  grep -oE '([a-z_0-9]+/)+[A-Za-z_0-9*-]+\.(h|cpp|cu|cuh|py|sh)\b' <<<"$text"
  grep -oE '`(apps|docs|examples|kernels|libsten|recipes|scripts|tests)/[^` ]*`' <<<"$text" | tr -d '`'
}
exists() { compgen -G "$(sed 's/NAME/*/g; s/FAMILY/*/g; s/ISA/*/g; s/[.][.][.]/*/g' <<<"$1")" >/dev/null; }

faults=$(
  find README.md docs examples recipes -name '*.md' | LC_ALL=C sort | while read -r page; do
    folder=$(dirname "$page")
    awk -v page="$page" '/^```/ { code = !code } code || /^\|/ { next }
      length > 120 { print page ":" FNR ": " length " columns" }' "$page"
    { grep -oE '\]\([^) ]+\)' "$page" || true; } | sed 's/^](//; s/)$//' | while read -r link; do
      [[ $link == http* ]] && continue
      file=${link%%#*}
      file=${file:+$folder/$file}
      file=${file:-$page}
      if [[ ! -e $file ]]; then
        echo "$page: $link is not there"
      elif [[ $link == *#* ]] && ! anchors "$file" | grep -qxF -e "${link#*#}"; then
        echo "$page: $link: unknown heading"
      fi
    done
    { named "$page" || true; } | LC_ALL=C sort -u | while read -r file; do
      exists "$file" || exists "tests/$file" || exists "$folder/$file" ||
        echo "$page: $file is not there"
    done
  done
)
if [[ -n $faults ]]; then
  echo "$faults"
  exit 1
fi
