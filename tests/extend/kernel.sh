#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Applies the changes of docs/adding-a-kernel.md to a copy of kernels/, compiles and tests it.
#   tests/extend/kernel.sh BUILD_DIR
# Exit 77 (skipped) if the build has no such kernels or is sanitized.
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
cached() { sed -n "s/^$1:[^=]*=//p" "$build/CMakeCache.txt"; }
if [[ $(cached STEN_SIMD) != ON || -z $(cached STEN_COMPILER_HAS_SIMD) || $(cached STEN_SANITIZE) != OFF ]]; then
  echo "kernel: skipped, built without simd/ or sanitized"
  exit 77
fi

# A code block belongs to the file that the last line of the form `FILE`: names. A C++ block must be
# part of the file; if the file does not exist, the block becomes the file. The old lines of a diff
# must occur once in the file; a blank line separates two hunks.
cp -r kernels "$T"
awk -v into="$T" '
  function fail(why) {
    print "docs/adding-a-kernel.md: " file ": " why ":\n" (old ? old : new) >"/dev/stderr"
    exit bad = 1
  }
  function read_file(    line, all) {
    while ((getline line < (into "/" file)) > 0) all = all line "\n"
    close(into "/" file)
    return all
  }
  function write_file(text) { printf "%s", text > (into "/" file); close(into "/" file) }
  function replace(    text, at) {
    text = read_file()
    at = index(text, old)
    if (!at || index(substr(text, at + 1), old)) fail("the old lines do not occur exactly once")
    write_file(substr(text, 1, at - 1) new substr(text, at + length(old)))
    old = new = ""
  }
  /^`kernels\/[^`]*`:$/ { file = substr($0, 2, length($0) - 3) }
  /^```/ && kind == "diff" { replace(); changed[file] }
  /^```/ && kind == "cpp" {
    text = read_file()
    if (text == "") { write_file(new); changed[file] }
    else if (!index(text, new)) fail("not in the file")
  }
  /^```/ { kind = kind ? "" : substr($0, 4); old = new = ""; next }
  kind == "diff" && /^ ?$/ { replace(); next }
  kind == "diff" && /^[ -]/ { old = old substr($0, 2) "\n" }
  kind == "diff" && /^[ +]/ { new = new substr($0, 2) "\n" }
  kind == "cpp" { new = new $0 "\n" }
  END { if (bad) exit 1; for (f in changed) print f }' docs/adding-a-kernel.md >"$T/changed"

# kernels/*.cpp are compiled again, because they loop over all ISAs. The kernel tables come from the
# library.
ln -s "$PWD/tests" "$T/tests"
cd "$T"
compiler=$(cached CMAKE_CXX_COMPILER)
sources="$(ls kernels/*.cpp) $(grep '^kernels/simd/.*cpp$' changed) tests/extend/main.cpp tests/extend/kernel_checks.cpp
  tests/kernels/elementwise_test.cpp tests/kernels/table_test.cpp"
# backend.cpp compares STEN_VERSION with the version of the CUDA plug-in.
printf '%s\n' $sources | xargs -P 2 -I SOURCE sh -c '
  "$0" -std=c++20 -DSTEN_VERSION=\"0\" -O1 -Wall -Wextra -Werror -I . -c SOURCE -o "$(echo SOURCE | tr / _).o"' "$compiler"
# The tables of other ISAs are weak symbols; with --as-needed, the linker would drop the library.
"$compiler" ./*.o -o checks -L "$build/lib" -Wl,--no-as-needed -lsten -Wl,-rpath,"$build/lib"
./checks
