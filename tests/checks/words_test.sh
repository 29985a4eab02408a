#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/checks/words.sh finds exactly the names in the column "not" of the glossary.
set -euo pipefail
check=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/scripts/checks/words.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{apps,libsten,kernels,tests,docs}
cat >"$tree/docs/glossary.md" <<'END'
| term | meaning | where | elsewhere | not |
|---|---|---|---|---|
| transposed | With two axes exchanged. | `libsten/` | `Fine` | `Turned`, `turn_*`, `*_there` |
END
cat >"$tree/libsten/good.h" <<'END'
// Turned is a word of comments.
#include "libsten/turn_table.h"
using Turned [[deprecated("Transposed")]] = Transposed;
Fine transposed("Turned", Turnedness, overturn_it, there);
END
bash "$check" "$tree" || { echo "words.sh rejects a valid tree" && exit 1; }
for name in Turned turn_tiles add_there; do
  echo "int x = $name;" >"$tree/apps/bad.cpp"
  if found=$(bash "$check" "$tree"); then echo "words.sh accepts $name" && exit 1; fi
  [[ $found == "apps/bad.cpp:1:int x = $name;"* ]] || { echo "wrong output: $found" && exit 1; }
done
