# SPDX-License-Identifier: Apache-2.0
# Unusual but valid safetensors files are accepted.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

cd "$T"
# accepted HEADER [DATA]: sten-convert accepts the file and preserves the data.
accepted() {
  safetensors in.safetensors "$@"
  expect_exit 0 sten-convert in.safetensors -o out.safetensors --to dense --force
  header out.safetensors >text
  data in.safetensors >wanted
  data out.safetensors | cmp - wanted || fail "the data of $1 changed"
}
weight=$(entry a.weight F32 2,2 0 16)
data="$F1$F2$F3$F4"

accepted '{}'
expect_out 'every tensor is dense already'
accepted '{"__metadata__":{}}'
accepted '{"__metadata__":{"note":"no tensors"}}'
grep -qF '"note":"no tensors"' text || fail 'the metadata of a file without tensors are missing'
expect_exit 2 sten-prune in.safetensors -o o --sparsity 0.5
expect_err 'none of the 0 tensors is chosen'

# White space anywhere that JSON allows it.
accepted "  $(printf '\t\r\n '){$weight}   " "$data"
accepted "{ \"a.weight\" : $(printf '\n'){ \"shape\" : [ 2 , 2 ] , \"data_offsets\":[0,16],\"dtype\":\"F32\" } }" "$data"
# Data at any alignment.
for blanks in '' ' ' '  ' '   '; do
  safetensors in.safetensors "{$(entry flag U8 1 0 1),$(entry a.weight F64 1,2 1 17)}$blanks" \
    '\x01\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\x40'
  expect_exit 0 sten-prune in.safetensors -o out.safetensors --sparsity 0.5 --force
  expect_out '0.6667'
done
# Tensors without elements, and without dimensions.
accepted "{$(entry scalar F32 '' 0 4),$(entry none F32 0 4 4),$(entry rows F32 5,0,3 4 4),$(entry a F32 1 4 8)}" "$F1$F2"
accepted "{$(entry a.weight F32 0,4 0 0),$(entry b.weight F32 4,0 0 0),$(entry c.weight F32 2,2 0 16)}" "$data"
for to in dense masked bitmask csr bcsr:h=2,w=3 nm:n=2,m=4 nmg:n=1,m=2,g=1; do
  case $to in n*) how="--to $to" ;; *) how="--sparsity 0.5 --to $to" ;; esac
  expect_exit 0 sten-prune in.safetensors -o sparse.safetensors $how --force
  expect_exit 0 sten-energy sparse.safetensors --against in.safetensors
  expect_exit 0 sten-convert sparse.safetensors -o dense.safetensors --to dense --force
  header dense.safetensors | grep -qF '"b.weight":{"dtype":"F32","shape":[4,0]' ||
    fail "an empty tensor changed in a round trip through $to"
done
# Any order of the header, any order of the data.
accepted "{$(entry b F32 1 4 8),$(entry a F32 1 8 12),$(entry c F32 1 0 4)}" "$F1$F2$F3"
accepted "{$(entry z F32 0 4 4),$(entry b F32 1 4 8),$(entry a F32 1 0 4)}" "$F1$F2"
# Dtypes that no program computes in.
accepted "{$(entry a C64 1 0 8),$(entry b F4 4 8 10),$(entry c F6_E2M3 4 10 13),$(entry d F8_E8M0 1 13 14),\
$(entry e U16 1 14 16),$(entry f.weight I64 1,1 16 24),$(entry g.weight BOOL 2,1 24 26)}" \
  "$F1$F2$F3$F4$F1$F2"'\x01\x00'
for dtype in C64 F4 F6_E2M3 F8_E8M0 U16 I64 BOOL; do
  grep -qF "\"dtype\":\"$dtype\"" text || fail "dtype $dtype is missing in the output"
done
expect_exit 2 sten-prune in.safetensors -o o --sparsity 0.5
expect_err 'none of the 7 tensors is chosen'
# An unknown field only gives a warning.
accepted "{\"a.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16],\"new\":{\"x\":[1,null]}}}" "$data"
[ "$(grep -c '^sten-convert: warning: ' "$T/err")" = 1 ] ||
  fail 'expected one warning about an unknown field'
held 22 expect_err "warning: in.safetensors: 'a.weight': unknown field 'new' is ignored"
# Names that resemble reserved names are accepted.
accepted "{$(entry metadata F32 1 0 4),$(entry a::b F32 1 4 8),$(entry sten:a F32 1 8 12),$(entry ..a F32 1 12 16)}" "$data"
