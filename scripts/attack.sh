#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Attacks the programs with random and hostile inputs, faults, kills and directory trees, for as
# long as you like. Exit code 1 if a guarantee is violated, with the seed that reproduces it.
#   scripts/attack.sh [--seconds N | --rounds N] [--seed S] [--bin DIR] [--keep] [--quiet]
#                     [--part differential|hostile|faults|kills|trees|bombs|all]
# Bombs are small files that declare large contents, at least 50 of each format: an input may take 20
# times its size and 256 MB of memory (twice that under a sanitizer), and 10 s of CPU time (60 s).
# Their seeds number them: --part bombs --seed 0 --rounds 1000 runs all bombs.
# Without --seconds and --rounds, runs the same rounds as ctest. Exit code 77 (skipped) without a
# Python that has numpy and ml_dtypes: STEN_PYTHON names one, and scripts/test.sh makes one in
# build/venv.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${STEN_BIN:-$source/build/bin}

for python in "${STEN_PYTHON:-}" "$bin/../venv/bin/python" "$source/build/venv/bin/python" python3; do
  if [ -n "$python" ] && "$python" -c 'import numpy, ml_dtypes' 2>/dev/null; then
    exec "$python" -B "$source/tests/attack/attack.py" --bin "$bin" "$@"
  fi
done
echo "skipped: found no Python with numpy and ml_dtypes; scripts/test.sh installs them"
exit 77
