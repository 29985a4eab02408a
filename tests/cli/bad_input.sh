# SPDX-License-Identifier: Apache-2.0
# Invalid input files give one clear error line, without an output file or a crash.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

mkdir "$T/work"
cd "$T/work"

bytes() { printf '%b' "$2" >$BAD && refused "$1"; }               # bytes TEXT CONTENT
json() { safetensors $BAD "$2" "${3-}" && refused "$1"; }         # json TEXT HEADER [DATA]
# fields TEXT FIELDS [DATA]: FIELDS are the header fields of 'w', the only tensor.
fields() { json "$1" "{\"w\":{$2}}" "${3-}"; }
# shape TEXT DTYPE SHAPE BYTES: the only tensor is 'w', with BYTES zero bytes of data.
shape() { json "$1" "{$(entry w "$2" "$3" 0 "$4")}" "$(repeat "$4" '\x00')"; }

good="{$(entry a.weight F32 2,2 0 16)}"
data="$F1$F2$F3$F4"

# The container: length of the header, other file formats, length of the data.
held 1 bytes 'is empty' ''
held 2 bytes 'has 4 bytes, too few' '\x08\x00\x00\x00'
held 3 bytes 'header length is 1000 bytes, only 2 follow' '\xe8\x03\x00\x00\x00\x00\x00\x00{}'
held 4 bytes 'header length: expected at most 100000000 bytes, got 100000001' '\x01\xe1\xf5\x05\x00\x00\x00\x00{}'
bytes 'got 18446744073709551608' '\xf8\xff\xff\xff\xff\xff\xff\xff{}'
held 5 bytes 'got 18446744073709551615' '\xff\xff\xff\xff\xff\xff\xff\xff{}'
held 6 bytes 'header length is 0' '\x00\x00\x00\x00\x00\x00\x00\x00'
held 7 bytes 'Git LFS pointer' 'version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 5\n'
held 8 bytes 'HTML' '<!DOCTYPE html>\n<html><body>Not found</body></html>\n'
bytes 'HTML' '\n\n<html>\n'
bytes 'JSON text' '{"error":"Repository not found"}'
held 9 bytes 'a Python pickle' '\x80\x02}q\x00(X\x06\x00\x00\x00weightq\x01'
bytes 'zip archive has no directory at its end (is the file truncated?)' 'PK\x03\x04\x00\x00\x08\x08\x00\x00\x00\x00'
bytes 'a NumPy .npz archive' "PK\x03\x04$(repeat 22 '\x00')\x05\x00\x00\x00w.npy"
bytes 'the ONNX model has no graph (is the file truncated?)' '\x08\x08\x12\x07pytorch'
bytes 'field 7 has 142 bytes, 5 are left' '\x08\x0a\x3a\x8e\x01\x0a\x10\x0a\x01x'
bytes 'the number of tensors takes 8 bytes, only 4 follow' 'GGUF\x03\x00\x00\x00\x00\x00\x00\x00'
bytes 'an HDF5 file' '\x89HDF\r\n\x1a\n\x00\x00\x00\x00'
held 11 json 'of 12 bytes of data (is the file truncated?)' "$good" "$F1$F2$F3"
json 'is the file truncated?' "$good"
held 12 json '4 bytes follow the data of the last tensor' "$good" "$data$F1"

# The header: JSON syntax, duplicate and missing fields, nesting, types and ranges of values.
json 'invalid JSON' $'{"a\xff.weight":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}' "$F1"
json 'invalid JSON' $'{"a\xed\xa0\x80":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}' "$F1"
held 14 json 'invalid JSON' '{"a\ud800":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}' "$F1"
json 'invalid JSON' '{"a\udc00\ud800":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}' "$F1"
held 15 json 'expected a JSON object' '[]'
json 'expected a JSON object' '"text"'
json 'expected a JSON object' 'null'
json 'expected a JSON object' '   '
json 'invalid JSON' '{"a.weight":'
json 'invalid JSON' "{$(entry a.weight F32 2,2 0 16),}" "$data"
held 16 bytes 'NUL byte' '\x04\x00\x00\x00\x00\x00\x00\x00{}\x00\x00'
json 'invalid JSON' '{}{}'
held 17 json 'invalid JSON' '{} x'
held 18 json "'a' appears twice" "{$(entry a F32 1 0 4),$(entry a F32 1 4 8)}" "$F1$F2"
json "'a' appears twice" "{$(entry a F32 1 0 4),$(entry '\u0061' F32 1 4 8)}" "$F1$F2"
json "'__metadata__' appears twice" '{"__metadata__":{},"__metadata__":{}}'
json "metadata 'k' appears twice" '{"__metadata__":{"k":"1","k":"2"}}'
held 19 fields "field 'shape' appears twice" '"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]' \
  "$F1"
fields "field 'dtype' appears twice" \
  '"dtype":"F32","d\u0074ype":"F32","shape":[1],"data_offsets":[0,4]' "$F1"
held 20 fields 'nested more than' "\"x\":$(repeat 100000 '['),\"dtype\":\"F32\""
fields 'nested more than' "\"x\":$(repeat 30000 '{"a":')1$(repeat 30000 '}')"
json "'w': expected an object, got an array" "{\"w\":$(repeat 100000 '[')$(repeat 100000 ']')}"
fields "missing 'dtype'" '"shape":[1],"data_offsets":[0,4]' "$F1"
fields "missing 'shape'" '"dtype":"F32","data_offsets":[0,4]' "$F1"
fields "missing 'data_offsets'" '"dtype":"F32","shape":[1]' "$F1"
fields "missing 'dtype'" ''
json "'__metadata__': expected an object, got an array" '{"__metadata__":[]}'
held 23 json "metadata 'k': expected a string, got 5" '{"__metadata__":{"k":5}}'
json "metadata 'k': expected a string, got null" '{"__metadata__":{"k":null}}'
json "metadata 'k': expected a string, got an object" '{"__metadata__":{"k":{"a":"b"}}}'
json "metadata 'k': expected a string, got an array" '{"__metadata__":{"k":["a"]}}'
every=$PROGRAMS
PROGRAMS=sten-energy # one program is enough for this loop
for number in 1.0 1e0 -1 -0 '"1"' true null '[1]' '{}'; do
  held 24 fields "'shape': expected unsigned integers" "\"dtype\":\"F32\",\"shape\":[$number],\"data_offsets\":[0,4]" "$F1"
  fields "'data_offsets': expected unsigned integers" "\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,$number]" "$F1"
done
PROGRAMS=$every
fields "'shape': expected an array, got 1" '"dtype":"F32","shape":1,"data_offsets":[0,4]' "$F1"
fields "'dtype': expected a string, got 5" '"dtype":5,"shape":[1],"data_offsets":[0,4]' "$F1"
fields "'data_offsets' holds one number" '"dtype":"F32","shape":[1],"data_offsets":[4]' "$F1"
fields "'data_offsets' holds more than two numbers" \
  '"dtype":"F32","shape":[1],"data_offsets":[0,4,8]' "$F1"
fields "'shape' holds 9223372036854775808, above 2^63 - 1" \
  '"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4]' "$F1"
held 25 fields "'data_offsets' holds 18446744073709551615, above" \
  '"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615]' "$F1"
fields "'shape': expected unsigned integers" '"dtype":"F32","shape":[99999999999999999999999999],"data_offsets":[0,4]' \
  "$F1"

# Tensors: dtype, offsets and shape.
held 26 shape "unknown dtype 'F33'" F33 1 4
shape "unknown dtype 'f32'" f32 1 4
held 27 json 'data begin at 4 and end at 0' "{$(entry w F32 1 4 0)}" "$F1"
held 28 json 'ends at byte 8 of 4 bytes of data' "{$(entry w F32 2 0 8)}" "$F1"
held 29 json "'a' and 'b' overlap" "{$(entry a F32 2 0 8),$(entry b F32 2 4 12)}" "$F1$F2$F3"
json "overlap" "{$(entry a F32 2 0 8),$(entry b F32 2 0 8)}" "$F1$F2"
held 30 json "bytes 4 to 8 of the data, between 'a' and 'b', belong to no tensor" \
  "{$(entry a F32 1 0 4),$(entry b F32 1 8 12)}" "$F1$F2$F3"
held 31 json "'w': expected the first tensor at byte 0 of the data, got byte 4" "{$(entry w F32 1 4 8)}" "$F1$F2"
held 32 shape "'w': shape says 12 bytes, offsets say 16" F32 3 16
shape 'shape says 0 bytes, offsets say 4' F32 0,5 4
shape 'shape says 4 bytes, offsets say 0' F32 '' 0
held 33 shape 'shape' F32 4294967296,4294967296 0
shape 'shape' F32 4294967296,1073741824 0
shape 'shape' U8 4294967296,4294967297 0
shape 'shape' F32 4611686018427387904 0
held 34 shape 'shape' F64 2305843009213693952 0
held 35 shape 'shape' F32 0,9223372036854775807,9223372036854775807 0
shape 'shape' F32 9223372036854775807,9223372036854775807,0 0
shape 'shape' F32 9223372036854775807,0,9223372036854775807 0
held 36 shape 'expected at most' F32 "1$(repeat 1000 ,1)" 4
shape 'have 12 bits: expected whole bytes' F4 3 2
held 37 shape 'have 6 bits: expected whole bytes' F6_E2M3 1 1

# Names of tensors.
json "a tensor has an empty name" "{$(entry '' F32 1 0 4)}" "$F1"
json "'a\\n.weight': the name holds control characters" "{$(entry 'a\n.weight' F32 1 0 4)}" "$F1"
json "'a\\x1b[2J': the name holds control characters" "{$(entry 'a\u001b[2J' F32 1 0 4)}" "$F1"
json "'a\\x00': the name holds control characters" "{$(entry 'a\u0000' F32 1 0 4)}" "$F1"
json "'a\\u202e': the name holds control characters" "{$(entry 'a\u202e' F32 1 0 4)}" "$F1"
held 38 json 'the name has 1000000 bytes' "{$(entry "$(repeat 1000000 x)" F32 1 0 4)}" "$F1"
json 'the name is an absolute path' "{$(entry /etc/weight F32 1 0 4)}" "$F1"
json 'the name is a path that leaves its directory' "{$(entry ../../weight F32 1 0 4)}" "$F1"
json 'the name is a path that leaves its directory' "{$(entry a/../weight F32 1 0 4)}" "$F1"

# More metadata keys than any model has are rejected before they fill the memory.
seq -f '"%.0f":"",' 1000001 | tr -d '\n' >keys
{ le64 $(($(wc -c <keys) + 24)) && printf '{"__metadata__":{' && cat keys && printf '"":""}}'; } \
  >$BAD
rm keys
refused 'more than 1000000 metadata keys'

# Not a model file: an empty directory, a device, a missing file, a path through a regular file.
rm $BAD
mkdir ../empty
BAD=../empty
refused ''
BAD=/dev/zero
held 10 refused 'got a device'
BAD=missing.safetensors
refused 'No such file or directory'
: >plain
BAD=plain/model.safetensors
refused 'Not a directory'
rm plain

[ -z "$(ls -A)" ] || fail "expected no files left behind, got: $(ls -A)"
