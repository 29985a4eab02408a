#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every source file names the licence of LICENSE in its first three lines: prints those without.
#   scripts/checks/license.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}"

line=$(grep -m1 '^SPDX-License-Identifier: ' LICENSE) || { echo "LICENSE: has no line SPDX-License-Identifier" && exit 1; }
folders=(.ci apps cmake examples kernels libsten python recipes scripts tests)
faults=$(
  for folder in "${folders[@]}"; do [[ ! -d $folder ]] || find "$folder" -type f \
    \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' -o -name '*.py' \
    -o -name '*.sh' -o -name '*.cmake' -o -name CMakeLists.txt -o -path .ci/run \) -print0; done |
    LC_ALL=C sort -z | LINE=$line xargs -0 awk 'FNR == 1 { if (name && !found) print name; name = FILENAME; found = 0 }
      FNR <= 3 && substr($0, length($0) - length(ENVIRON["LINE"]) + 1) == ENVIRON["LINE"] { found = 1 }
      END { if (name && !found) print name }'
)
if [[ -n $faults ]]; then
  echo "$faults"
  echo "license: expected '$line' in the first three lines of these files"
  exit 1
fi
