#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Documents are at most 120 columns wide except in tables and code, and the pages, headings and
# files that they link to or name exist.
#   scripts/checks/documents.sh [ROOT]        prints every fault, and exits with 1 if there are any
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}"

# The anchors of a page's headings, as GitHub generates them.
anchors() {
  awk '/^```/ { code = !code } !code && /^#/' "$1" | tr '[:upper:]' '[:lower:]' |
    sed 's/^#* *//; s/[^[:alnum:] _-]//g; s/ /-/g'
}
# Files that a page names: paths with the extension of a source file, and names in backticks that
# start with one of our folders. NAME, FAMILY, ISA and ... are wildcards. A line with only a name
# and a colon is the title of a code block, and does not count.
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
        echo "$page: $link does not exist"
      elif [[ $link == *#* ]] && ! anchors "$file" | grep -qxF -e "${link#*#}"; then
        echo "$page: $link: unknown heading"
      fi
    done
    { named "$page" || true; } | LC_ALL=C sort -u | while read -r file; do
      exists "$file" || exists "tests/$file" || exists "$folder/$file" ||
        echo "$page: $file does not exist"
    done
  done
)
if [[ -n $faults ]]; then
  echo "$faults"
  exit 1
fi
