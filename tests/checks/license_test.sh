#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/checks/license.sh finds exactly the source files that do not name the licence at their top.
set -euo pipefail
check=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/scripts/checks/license.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{apps,libsten}
echo 'SPDX-License-Identifier: MIT' >"$tree/LICENSE"
printf '// SPDX-License-Identifier: MIT\nint x;\n' >"$tree/apps/good.cpp"
printf '#!/bin/sh\n# SPDX-License-Identifier: MIT\ntrue\n' >"$tree/libsten/good.sh"
bash "$check" "$tree" || { echo "license.sh rejects a valid tree" && exit 1; }
printf '// SPDX-License-Identifier: Apache-2.0\n' >"$tree/apps/bad.cpp"
printf 'true\n\n\n# SPDX-License-Identifier: MIT\n' >"$tree/libsten/bad.sh"
if found=$(bash "$check" "$tree"); then echo "license.sh accepts bad files" && exit 1; fi
[[ $found == apps/bad.cpp$'\n'libsten/bad.sh$'\n'license:* ]] || { echo "unexpected output: $found" && exit 1; }
