# SPDX-License-Identifier: Apache-2.0
# Invalid .npy files, and .npy files whose header declares more data than the file has, are rejected
# with one error line.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

mkdir "$T/work"
cd "$T/work"
BAD=bad.npy

# npy HEADER [DATA]: writes $BAD in version 1.0 of the format.
npy() {
  local LC_ALL=C n=${#1}
  { printf '\x93NUMPY\x01\x00%b' "$(printf '\\x%02x\\x%02x' $((n & 255)) $((n >> 8)))" &&
    printf '%s%b' "$1" "${2-}"; } >$BAD
}
# array DESCR FORTRAN SHAPE [DATA]
array() { npy "{'descr': $1, 'fortran_order': $2, 'shape': ($3), }" "${4-}"; }

array "'<f4'" False 2,2 "$F1$F2$F3$F4"
expect_exit 0 sten-prune $BAD -o out.npy --sparsity 0.5
tail -c 16 out.npy >got
printf '%b' "$F0$F0$F3$F4" | cmp - got || fail 'a valid array in C order was read incorrectly'
rm out.npy got
# In Fortran order the matrix is 1 3 / 2 4; pruning removes the 1.
array "'<f4'" True 2,2 "$F1$F2$F3$F4"
expect_exit 0 sten-prune $BAD -o out.npy --sparsity 0.25
tail -c 16 out.npy >got
printf '%b' "$F0$F3$F2$F4" | cmp - got || fail 'a valid array in Fortran order was read incorrectly'
rm out.npy got

array "'|O'" False 2, 'pickled!'
refused "dtype '|O'"
array "'>f4'" False 1,1 "$F1"
held 66 refused 'big-endian'
array "[('a', '<f4')]" False 1,1 "$F1"
refused 'structures'
npy "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1), }$(repeat 10000 ' ')" "$F1"
refused 'expected at most 10000 bytes'
array "'<f4'" False 1000000,1000000 "$F1"
held 67 refused 'needs 4000000000000 bytes, the file has 4'
array "'<f4'" False 4294967296,4294967296 "$F1"
refused ''
array "'<f4'" False 4294967296,4294967296,0
refused ''
array "'<f4'" False 0,9223372036854775807,9223372036854775807
refused ''
array "'<f4'" False 1,1 "$F1$F2"
refused '4 unexpected bytes follow'
array "'<f4'" False -1,1 "$F1"
refused ''
printf '\x93NUMPY\x01\x00\xff\x00{' >$BAD
refused 'only 1 follow'
printf '\x93NUMPY' >$BAD
refused 'too few'
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 5\n' >$BAD
refused 'Git LFS pointer'
: >$BAD
refused 'is empty'

rm $BAD
[ -z "$(ls -A)" ] || fail "expected no files left behind, got: $(ls -A)"
