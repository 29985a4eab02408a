#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes every target for SECONDS each (default 60), in build-asan/, which is built with clang++-14.
#   scripts/fuzz.sh [SECONDS [TARGET...]]     TARGET: NAME of a tests/fuzz/NAME_fuzz.cpp (default: all)
# A finding ends the run; the input is build-asan/fuzz/TARGET-crash-*. After the fix, add the input
# to tests/fuzz/corpus/TARGET/, named after the fault, so that every build replays it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}
shift || true
[ $# -gt 0 ] || set -- $(basename -as _fuzz.cpp tests/fuzz/*_fuzz.cpp)
dir=${STEN_FUZZ_BUILD:-build-asan}
CXX=clang++-14 CMAKE_GENERATOR=Ninja cmake -B "$dir" -DSTEN_TESTS=ON -DSTEN_SANITIZE=ON \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -gline-tables-only" >/dev/null
cmake --build "$dir" --target "${@/%/_fuzz}" >/dev/null
for target in "$@"; do
  mkdir -p "$dir/fuzz/$target"
  echo "== $target, $seconds s"
  "$dir/bin/${target}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=256 -verbosity=0 \
    -print_final_stats=1 -artifact_prefix="$dir/fuzz/$target-" "$dir/fuzz/$target" "tests/fuzz/corpus/$target"
done
