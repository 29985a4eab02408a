#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# no_stray_avx_test.sh BUILD_DIR [LIBRARY]: outside of kernels that are called only on suitable
# CPUs, libsten has no AVX, AVX-512 or BMI instruction, not even in a copy of a standard function.
# Loops over vector types of an unnamed namespace are allowed: no other source shares their code.
set -eu
library=${2:-$1/lib/libsten.so}
skip() {
  echo "no_stray_avx: skipped, $1"
  exit 77
}
command -v objdump >/dev/null || skip "objdump is not installed"
[ -f "$library" ] || { echo "no_stray_avx: $library is missing" >&2; exit 1; }
flags='^CMAKE_CXX_FLAGS[A-Z_]*:[A-Z]*=.*-m(arch|cpu|avx|bmi|fma)'
if grep -Eq -e "$flags" "$1/CMakeCache.txt" 2>/dev/null; then
  skip "the whole build targets a specific CPU"
fi
objdump -t "$library" | grep -q ' F [.]text' || skip "$library has no symbols"

objdump -d -C --no-show-raw-insn "$library" | awk -v library="$library" \
  -v own_vectors='sten::kernels::simd::[A-Z][A-Za-z0-9]*<sten::kernels::simd::[(]anonymous namespace[)]::' '
  /^[0-9a-f]+ <.*>:$/ {
    name = substr($0, index($0, "<") + 1)
    sub(/>:$/, "", name)
    allowed = name ~ /sten::kernels::(avx(2|512)[a-z0-9_]*|amx)::/ || name ~ own_vectors
    next
  }
  $1 ~ /^[0-9a-f]+:$/ {
    op = $2 ~ /^[{]e?vex[}]$/ ? $3 : $2
    vector = op ~ /^v/ && (op ~ /^v(zero|ldmxcsr|stmxcsr)/ || /%[xyz]mm/)
    mask = op ~ /^k[a-z]/ && /%k[0-7]/
    bits = op ~ /^(andn|bextr|blsi|blsmsk|blsr|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx)[lq]?$/
    if (!vector && !mask && !bits) next
    if (allowed) { inside++; next }
    if (!(name in stray)) print library ": " op " in " name
    stray[name] = 1
    strays++
  }
  END {
    if (strays) exit 1
    if (inside) exit 0
    print "no_stray_avx: skipped, built without such kernels"
    exit 77
  }'
