#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh PAGE...: page.py runs the commands of each page; exit 77 (skipped) without Python.
set -eu
command -v python3 >/dev/null || {
  echo "skipped: python3 is missing"
  exit 77
}
for page in "$@"; do
  python3 -B "$(dirname "$0")/page.py" "$page" "$STEN_BIN"
done
