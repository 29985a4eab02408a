#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The code uses no name from the column "not" of docs/glossary.md: prints every use, and exits with
# 1 if there are any. Deprecated aliases of public names are exempt.
#   scripts/checks/words.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}"

# The last column of the tables: `name`, `prefix_*`, ... as one extended regular expression.
names=$(awk -F'|' '/^\| term / { column = 0; for (i = 1; i <= NF; ++i) if ($i ~ /^ *not *$/) column = i; next }
  /^\|/ && column { print $column } !/^\|/ { column = 0 }' docs/glossary.md |
  { grep -oE '`[A-Za-z_][A-Za-z_0-9*]*`|`\*[A-Za-z_0-9*]+`' || true; } | tr -d '`' | sed 's/[*]/[A-Za-z_0-9]*/g' | sort -u | paste -sd'|')
[[ -n $names ]] || { echo "docs/glossary.md: the column \"not\" has no names" && exit 1; }

# Only code counts: comments and string literals are ignored.
faults=$(
  find apps libsten kernels tests -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) |
    { grep -vE '^(libsten/core/base/kept_memory.h|libsten/core/sparsify/per_block.h|tests/extend/deprecated_names.cpp)$' || true; } |
    LC_ALL=C sort | NAMES=$names xargs perl -ne 's|//.*||; s/"([^"\\]|\\.)*"/""/g; print "$ARGV:$.:$_"
      if /\b(?:$ENV{NAMES})\b/ && !/\[\[deprecated|^#include/; close ARGV if eof'
)
if [[ -n $faults ]]; then
  echo "$faults"
  echo "words: use the terms of docs/glossary.md"
  exit 1
fi
