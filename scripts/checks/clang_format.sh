#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All sources are formatted by clang-format 14; other versions would format some lines differently.
# Exit 77 (skipped) if clang-format 14 is not installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

format=
for candidate in clang-format-14 clang-format; do
  if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then
    format=$candidate
    break
  fi
done
if [[ -z $format ]]; then
  echo "format: skipped, clang-format 14 is not installed"
  exit 77
fi
if ! find apps libsten kernels tests -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 "$format" --dry-run -Werror; then
  echo "format: to repair a file: $format -i FILE"
  exit 1
fi
