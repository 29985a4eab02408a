#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel of sten-tools from a finished build of sten, as a release does, and runs the tests of
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
"$python" -c 'import nanobind, numpy, ml_dtypes, scikit_build_core, scipy' 2>/dev/null ||
  skip "$python is missing or lacks nanobind, numpy, ml_dtypes, scikit-build-core and scipy; scripts/test.sh installs them"
"$python" -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
  skip "Python.h of $python not found (Debian: python3-dev)"
if [[ $(cache STEN_SANITIZE) != OFF ]]; then skip "a sanitized libsten cannot be loaded by Python"; fi

out=$build/python
rm -rf "$out/wheel" "$out/package"
{
  "$python" -m pip wheel --no-deps --no-build-isolation --no-index -w "$out/wheel" "$source/python" \
    --config-settings=build-dir="$out/build" --config-settings=cmake.build-type= \
    --config-settings=cmake.define.STEN_BUILD_DIR="$build" --config-settings=cmake.define.STEN_BUNDLE=ON \
    --config-settings=cmake.define.CMAKE_CXX_COMPILER="$(cache CMAKE_CXX_COMPILER)" \
    --config-settings=cmake.define.CMAKE_CXX_COMPILER_LAUNCHER="$(cache CMAKE_CXX_COMPILER_LAUNCHER)" &&
    "$python" -m pip install --no-deps --no-index --target "$out/package" "$out"/wheel/*.whl
} >"$build/python.log" 2>&1 || { tail -n 40 "$build/python.log"; exit 1; }

# The wheel has what libsten loads, and its programs start.
for name in $(python3 "$source/scripts/third_party.py" loaded "$build" | cut -d ' ' -f 1); do
  compgen -G "$out/package/sten_tools/lib*/$name" >/dev/null || { echo "the wheel lacks $name"; exit 1; }
done
version=$(env -i PYTHONPATH="$out/package" "$out/package/bin/sten-prune" --version)
[[ $version == "sten-prune $(cache CMAKE_PROJECT_VERSION)" ]] || { echo "sten-prune of the wheel says '$version'"; exit 1; }

export PYTHONPATH=$out/package STEN_SOURCE=$source STEN_BIN=$build/bin
for test in "$source"/python/tests/test_*.py; do
  echo "== ${test##*/}"
  status=0
  "$python" -B "$test" || status=$?
  [[ $status = 0 || $status = 77 ]] || exit $status  # 77: that one lacks a package
done
