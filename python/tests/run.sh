#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the extension module of sten_tools against a finished build of sten, and runs the tests of
# the package with STEN_PYTHON or the build's virtual environment; exit 77 (skipped) without either.
#   python/tests/run.sh BUILD_DIR
set -euo pipefail
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=${STEN_PYTHON:-$build/venv/bin/python}
cache() { sed -n "s/^$1:[^=]*=//p" "$build/CMakeCache.txt"; }

skip() {
  echo "skipped: $*"
  exit 77
}
"$python" -c 'import nanobind, numpy, ml_dtypes, scipy' 2>/dev/null ||
  skip "$python is missing or lacks nanobind, numpy, ml_dtypes and scipy; scripts/test.sh installs them"
"$python" -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
  skip "Python.h of $python not found (Debian: python3-dev)"
if [[ $(cache STEN_SANITIZE) != OFF ]]; then skip "a sanitized libsten cannot be loaded by Python"; fi

out=$build/python
cmake -S "$source/python" -B "$out" -DSTEN_BUILD_DIR="$build" -DPython_EXECUTABLE="$python" -DCMAKE_BUILD_TYPE= \
  -DCMAKE_CXX_COMPILER="$(cache CMAKE_CXX_COMPILER)" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$(cache CMAKE_CXX_COMPILER_LAUNCHER)" >"$out.log" 2>&1 &&
  cmake --build "$out" >>"$out.log" 2>&1 || { tail -n 40 "$out.log"; exit 1; }

# The package with the module beside its files.
mkdir -p "$out/package/sten_tools"
ln -sf "$source"/python/sten_tools/* "$out"/_native*.so "$out/package/sten_tools/"
export PYTHONPATH=$out/package STEN_SOURCE=$source STEN_BIN=$build/bin
for test in "$source"/python/tests/test_*.py; do
  echo "== ${test##*/}"
  status=0
  "$python" -B "$test" || status=$?
  [[ $status = 0 || $status = 77 ]] || exit $status  # 77: that one lacks a package
done
