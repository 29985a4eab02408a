#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/checks/documents.sh accepts valid documents and names every error.
set -euo pipefail
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/checks/documents.sh
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
mkdir -p "$T/docs" "$T/examples" "$T/recipes" "$T/libsten/core/base" "$T/tests/cli"
touch "$T/libsten/core/base/json.h" "$T/tests/cli/help.sh"
long=$(printf '%121s' '' | tr ' ' x)
cat >"$T/docs/page.md" <<END
# A page: of \`n:m\`
See [it](#a-page-of-nm), [all](../README.md#all), \`libsten/core/base/json.h\`, \`libsten/core/NAME/json.h\`, cli/help.sh.
\`libsten/core/base/new.h\`:
| $long |
\`\`\`
$long
#include <other/other.h>
\`\`\`
END
echo '# All' >"$T/README.md"
bash "$check" "$T"
for fault in "$long|columns" '[x](none.md)|none.md' '[x](page.md#none)|unknown heading' '[x](#none)|unknown heading' \
  '`libsten/none`|libsten/none' 'libsten/core/base/none.h|none.h' 'cli/none.sh|none.sh'; do
  echo "${fault%|*}" >"$T/docs/other.md"
  if bash "$check" "$T" >"$T/out"; then
    echo "documents.sh accepts ${fault%|*}" >&2
    exit 1
  fi
  grep -qF "${fault##*|}" "$T/out"
  grep -q '^docs/other.md:' "$T/out"
done
