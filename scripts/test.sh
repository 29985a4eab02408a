#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs every test: first with g++ in build/, then under AddressSanitizer and
# UndefinedBehaviorSanitizer with clang in build-asan/, where each fuzzer also runs for some seconds; then
# multithreaded code under ThreadSanitizer in build-tsan/. STEN_JOBS limits the parallel jobs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=${STEN_JOBS:-$(nproc)}

heading() { printf '\n== %s\n' "$1"; }

# The compiler and Ninja are chosen through the environment: an existing build directory keeps its own.
configure() { # configure DIR COMPILER TARGETS OPTION...
  local dir=$1 compiler=$2 targets=$3 fresh=()
  shift 3
  if [[ ! -f $dir/CMakeCache.txt ]]; then fresh=(-DSTEN_UNITY=ON); fi
  CXX=$compiler CMAKE_GENERATOR=Ninja cmake -B "$dir" -DSTEN_TESTS=ON -DSTEN_WERROR=ON "${fresh[@]}" "$@"
  cmake --build "$dir" -j "$jobs" --target $targets
}

failed=0
run_tests() { # run_tests DIR CTEST-OPTION...
  local dir=$1
  shift
  # One job more than processors, because some tests mostly wait.
  ctest --test-dir "$dir" --output-on-failure --no-tests=error -j $((jobs + 1)) "$@" 2>&1 |
    tee "$dir/test.log" || failed=1
}

heading "packages"
scripts/setup.sh test

heading "build (g++, Release)"
configure build g++ all -DCMAKE_BUILD_TYPE=Release

heading "Python packages for tests"
python=build/venv/bin/python
if "$python" -c 'import safetensors, numpy, ml_dtypes, jsonschema, nanobind, scikit_build_core, scipy' 2>/dev/null; then
  echo "present"
elif python3 -m venv --clear build/venv &&
  "$python" -m pip install -q --disable-pip-version-check --retries 1 --timeout 15 \
    safetensors numpy ml_dtypes jsonschema nanobind scikit-build-core scipy; then
  echo "installed into build/venv"
else
  rm -rf build/venv
  echo "CANNOT be installed (no network?): tests that need them will be reported as skipped."
fi

heading "tests (g++, Release)"
run_tests build

heading "build (clang++-14, sanitizers)"
# Without NDEBUG, so that assertions are checked. Only sources with loops over values are optimised
# (-O1): for the others, optimising would take longer than the tests would gain.
configure build-asan clang++-14 all -DSTEN_SANITIZE=ON -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_FLAGS_DEBUG="-O0 -gline-tables-only"

heading "tests (clang++-14, sanitizers)"
run_tests build-asan --label-exclude '^(once|interop)$'

heading "build (clang++-14, ThreadSanitizer)"
configure build-tsan clang++-14 'sten_tests sten-prune sten-convert sten-energy' -DSTEN_SANITIZE=thread \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O0 -gline-tables-only"

heading "tests (clang++-14, ThreadSanitizer)"
run_tests build-tsan

# Whether the build has CUDA, and the result of the test device.cuda.
heading "CUDA"
cat build/cuda.txt
grep 'device\.cuda \.' build/test.log || failed=1

# Prints the summaries of ctest again, so that the last screen shows all results.
for dir in build build-asan build-tsan; do
  heading "summary of $dir"
  sed -n '/% tests passed/,$p' "$dir/test.log"
done
exit "$failed"
