# SPDX-License-Identifier: Apache-2.0
# Sparse tensors with damaged parts are rejected with one error line that names the file, the tensor
# and the cause.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

mkdir "$T/work"
cd "$T/work"

# read_as DATA: bad.safetensors (here a valid file) has these elements in dense form.
read_as() {
  expect_exit 0 sten-convert $BAD -o dense.safetensors --to dense
  data dense.safetensors >got
  printf '%b' "$1" >wanted
  cmp got wanted || fail 'a valid sparse tensor was decoded incorrectly'
  rm dense.safetensors got wanted
}
# damaged TEXT LAYOUT SHAPE ENTRIES DATA: the tensor is rejected with TEXT.
damaged() { sparse $BAD "${@:2}" && refused "$1" && expect_err ": 'w.weight': "; }

# The matrix of most cases:
# 0 1 2
# 0 0 3
elements="$F0$F1$F2$F0$F0$F3"

masked() { printf '%s,%s' "$(part values F32 2,3 0 24)" "$(part mask U8 1 24 25)"; }
sparse $BAD masked 2,3 "$(masked)" "$elements"'\x26'
read_as "$elements"
damaged "the mask has bits set beyond element 5" masked 2,3 "$(masked)" "$elements"'\x66'
damaged "element 2 is masked out but not 0" masked 2,3 "$(masked)" \
  "$elements"'\x22'
damaged "a mask of 1 bytes does not fit 9 elements" \
  masked 3,3 "$(part values F32 3,3 0 36),$(part mask U8 1 36 37)" "$elements$F0$F0$F0"'\x26'
damaged "part 'values'" masked 2,4 "$(masked)" "$elements"'\x26'
damaged "part 'mask'" \
  masked 2,3 "$(part values F32 2,3 0 24),$(part mask BOOL 1 24 25)" "$elements"'\x26'
damaged "part 'mask'" \
  masked 2,3 "$(part values F32 2,3 0 24),$(part mask U8 1,1 24 25)" "$elements"'\x26'

bitmask() { printf '%s,%s' "$(part mask U8 1 0 1)" "$(part values F32 3 1 13)"; }
sparse $BAD bitmask 2,3 "$(bitmask)" '\x26'"$F1$F2$F3"
read_as "$elements"
held 52 damaged "the mask keeps 2 elements, but 3 values are stored" bitmask 2,3 "$(bitmask)" '\x06'"$F1$F2$F3"
damaged "the mask keeps 4 elements, but 3 values are stored" bitmask 2,3 "$(bitmask)" '\x36'"$F1$F2$F3"
damaged "the mask has bits set beyond element 5" bitmask 2,3 "$(bitmask)" '\xa2'"$F1$F2$F3"
damaged "a mask of 1 bytes does not fit 9 elements" bitmask 3,3 "$(bitmask)" '\x26'"$F1$F2$F3"
damaged "a mask of 1 bytes does not fit 100000000000000000 elements" \
  bitmask 100000000,1000000000 "$(bitmask)" '\x26'"$F1$F2$F3"
damaged "shape [1000000000, 1000000000] of F32: expected at most 2^62 bits" \
  bitmask 1000000000,1000000000 "$(bitmask)" '\x26'"$F1$F2$F3"
damaged "part 'values' is U8 but the tensor is F32" \
  bitmask 2,3 "$(part mask U8 1 0 1),$(part values U8 3 1 4)" '\x26\x01\x02\x03'

csr() {
  printf '%s,%s,%s' "$(part ptr I64 3 0 24)" "$(part index I32 3 24 36)" \
    "$(part values F32 3 36 48)"
}
csr_data() { # PTR... INDEX...: three of each
  le64 "$1" "$2" "$3" | od -An -v -tx1 | tr -d '\n' | sed 's/ /\\x/g'
  printf '\\x%02x\\x00\\x00\\x00' "$4" "$5" "$6"
  printf '%s' "$F1$F2$F3"
}
sparse $BAD csr 2,3 "$(csr)" "$(csr_data 0 2 3 1 2 2)"
read_as "$elements"
damaged "row 1: column 3 is out of range for 3 columns" csr 2,3 "$(csr)" "$(csr_data 0 2 3 1 2 3)"
damaged "row 0: column 2 follows column 2" csr 2,3 "$(csr)" "$(csr_data 0 2 3 2 2 2)"
damaged "row 0: column 1 follows column 2" csr 2,3 "$(csr)" "$(csr_data 0 2 3 2 1 2)"
damaged "row 1: column -1 is out of range for 3 columns" csr 2,3 "$(csr)" \
  "$(csr_data 0 2 3 1 2 2 | sed 's/\(.*\)\\x02\\x00\\x00\\x00/\1\\xff\\xff\\xff\\xff/')"
damaged "the row pointers start at 1, expected 0" csr 2,3 "$(csr)" "$(csr_data 1 2 3 1 2 2)"
damaged "the row pointers start at -1, expected 0" csr 2,3 "$(csr)" "$(csr_data -1 2 3 1 2 2)"
damaged "the row pointers decrease at row 1" csr 2,3 "$(csr)" "$(csr_data 0 4 3 1 2 2)"
damaged "the row pointers decrease at row 0" csr 2,3 "$(csr)" "$(csr_data 0 -2 3 1 2 2)"
damaged "the row pointers end at 2, but 3 values are stored" csr 2,3 "$(csr)" "$(csr_data 0 2 2 1 2 2)"
damaged "the row pointers end at 4611686018427387904, but 3 values are stored" \
  csr 2,3 "$(csr)" "$(csr_data 0 2 4611686018427387904 1 2 2)"
damaged "3 row pointers do not fit 3 rows" csr 3,3 "$(csr)" "$(csr_data 0 2 3 1 2 2)"
damaged "3 row pointers do not fit" csr 100000000000000000,0 "$(csr)" "$(csr_data 0 2 3 1 2 2)"
damaged "3 column indices do not fit 2 values" csr 2,3 \
  "$(part ptr I64 3 0 24),$(part index I32 3 24 36),$(part values F32 2 36 44)" \
  "$(csr_data 0 2 3 1 2 2 | sed 's/.\{16\}$//')"
damaged "part 'ptr'" csr 2,3 \
  "$(part ptr I32 6 0 24),$(part index I32 3 24 36),$(part values F32 3 36 48)" \
  "$(csr_data 0 2 3 1 2 2)"
PROGRAMS="sten-convert sten-energy" damaged "a tensor of rank 1" \
  csr 6 "$(csr)" "$(csr_data 0 2 3 1 2 2)"
damaged "4294967296 columns do not fit" csr 2,4294967296 "$(csr)" "$(csr_data 0 2 3 1 2 2)"

# Blocks of one row and two columns: 0 1 | 2 0 | 3 0. The last column of the last two is padding.
bcsr() { # MASK_BYTES
  printf '%s,%s,%s' "$(part ptr I64 3 0 24)" "$(part col I32 3 24 36)" "$(part values F32 3,1,2 36 60)"
  [ "$1" = 0 ] || printf ',%s' "$(part mask U8 $1 60 $((60 + $1)))"
}
bcsr_data() { # PTR... COL... VALUES: three pointers, three columns, any values
  le64 "$1" "$2" "$3" | od -An -v -tx1 | tr -d '\n' | sed 's/ /\\x/g'
  printf '\\x%02x\\x00\\x00\\x00' "$4" "$5" "$6"
  printf '%s' "$7"
}
blocks="$F0$F1$F2$F0$F3$F0"
sparse $BAD bcsr:h=1,w=2 2,3 "$(bcsr 1)" "$(bcsr_data 0 2 3 0 1 1 "$blocks")"'\x16'
read_as "$elements"
sparse $BAD bcsr:h=1,w=2 2,3 "$(bcsr 0)" "$(bcsr_data 0 2 3 0 1 1 "$blocks")"
read_as "$elements"
damaged_bcsr() { # TEXT PTR... COL... [VALUES]
  damaged "$1" bcsr:h=1,w=2 2,3 "$(bcsr 0)" "$(bcsr_data "${@:2:6}" "${8-$blocks}")"
}
damaged_bcsr "the block-row pointers start at 1, expected 0" 1 2 3 0 1 1
damaged_bcsr "the block-row pointers decrease at block row 1" 0 4 3 0 1 1
damaged_bcsr "the block-row pointers end at 2, but 3 blocks are stored" 0 2 2 0 1 1
damaged_bcsr "block row 1: block column 2 is out of range for 2 block columns" 0 2 3 0 1 2
damaged_bcsr "block row 0: block column 1 follows block column 1" 0 2 3 1 1 1
damaged_bcsr "block row 0: block column 0 follows block column 1" 0 2 3 1 0 1
damaged_bcsr "block 2: (0, 1) is padding but not 0" 0 2 3 0 1 1 "$F0$F1$F2$F0$F0$F3"
damaged "3 block-row pointers do not fit 3 block rows" \
  bcsr:h=1,w=2 3,3 "$(bcsr 0)" "$(bcsr_data 0 2 3 0 1 1 "$blocks")"
damaged "part 'values' has shape [3, 1, 2], expected [3, 2, 1]" \
  bcsr:h=2,w=1 2,3 "$(bcsr 0)" "$(bcsr_data 0 2 3 0 1 1 "$blocks")"
damaged "block 0: (0, 1) is masked out but not 0" \
  bcsr:h=1,w=2 2,3 "$(bcsr 1)" "$(bcsr_data 0 2 3 0 1 1 "$blocks")"'\x15'
damaged "block 1: the mask keeps (0, 1), which is padding" \
  bcsr:h=1,w=2 2,3 "$(bcsr 1)" "$(bcsr_data 0 2 3 0 1 1 "$blocks")"'\x1e'
damaged "the mask has bits set beyond element 5" \
  bcsr:h=1,w=2 2,3 "$(bcsr 1)" "$(bcsr_data 0 2 3 0 1 1 "$blocks")"'\x56'
damaged "a mask of 2 bytes does not fit 6 elements" \
  bcsr:h=1,w=2 2,3 "$(bcsr 2)" "$(bcsr_data 0 2 3 0 1 1 "$blocks")"'\x16\x00'
for block in h=0,w=2 h=-1,w=2 h=65537,w=1 h=4294967296,w=4294967296; do
  damaged "h=" bcsr:$block 2,3 "$(bcsr 0)" "$(bcsr_data 0 2 3 0 1 1 "$blocks")"
done
damaged "block columns do not fit" \
  bcsr:h=1,w=2 2,8589934592 "$(bcsr 0)" "$(bcsr_data 0 2 3 0 1 1 "$blocks")"

# m=2 of 3 columns: the last column shares its block with a padding column.
nm() { printf '%s,%s' "$(part values F32 2,2,1 0 16)" "$(part pos U8 2,1 16 18)"; }
sparse $BAD nm:n=1,m=2 2,3 "$(nm)" "$F1$F2$F0$F3"'\x01\x00'
read_as "$elements"
damaged "row 0, block 1: position 1 is padding but not 0" \
  nm:n=1,m=2 2,3 "$(nm)" "$F1$F2$F0$F3"'\x03\x00'
damaged "row 1: spare position bits are not 0" nm:n=1,m=2 2,3 "$(nm)" "$F1$F2$F0$F3"'\x01\x04'
damaged "row 0, block 0: position 3 is out of range for m=3" nm:n=1,m=3 1,3 \
  "$(part values F32 1,1,1 0 4),$(part pos U8 1,1 4 5)" "$F1"'\x03'
two_of_four() { printf '%s,%s' "$(part values F32 1,1,2 0 8)" "$(part pos U8 1,1 8 9)"; }
sparse $BAD nm:n=2,m=4 1,4 "$(two_of_four)" "$F1$F2"'\x0d'
read_as "$F0$F1$F0$F2"
damaged "row 0, block 0: position 1 follows position 1" nm:n=2,m=4 1,4 "$(two_of_four)" "$F1$F2"'\x05'
damaged "row 0, block 0: position 1 follows position 3" nm:n=2,m=4 1,4 "$(two_of_four)" "$F1$F2"'\x07'
damaged "part 'values'" nm:n=1,m=4 1,4 "$(two_of_four)" "$F1$F2"'\x0d'
damaged "part 'values'" nm:n=2,m=4 1,5 "$(two_of_four)" "$F1$F2"'\x0d'
damaged "part 'pos'" nm:n=2,m=4 1,4 \
  "$(part values F32 1,1,2 0 8),$(part pos U8 1 8 9)" "$F1$F2"'\x0d'

# 0 1
# 2 0
nmg() { printf '%s,%s' "$(part values F32 1,1,2,1,1 0 8)" "$(part index U8 1,1,2,1 8 10)"; }
sparse $BAD nmg:n=1,m=2,g=1 2,2 "$(nmg)" "$F1$F2"'\x01\x00'
read_as "$F0$F1$F2$F0"
damaged "chunk 0: index 2 is out of range for 2 strips" nmg:n=1,m=2,g=1 2,2 "$(nmg)" "$F1$F2"'\x02\x00'
held 49 damaged "chunk 0: strip 1 occurs twice" nmg:n=1,m=2,g=1 2,2 "$(nmg)" "$F1$F2"'\x01\x01'
held 53 damaged "rows 0 to 0, columns 0 to 1: a value in padding is not 0" \
  nmg:n=1,m=2,g=1 1,2 "$(nmg)" "$F1$F2"'\x01\x00'
damaged "part 'values'" nmg:n=1,m=2,g=1 3,2 "$(nmg)" "$F1$F2"'\x01\x00'
damaged "part 'values'" nmg:n=1,m=2,g=2 2,2 "$(nmg)" "$F1$F2"'\x01\x00'
damaged "part 'index'" nmg:n=1,m=2,g=1 2,2 \
  "$(part values F32 1,1,2,1,1 0 8),$(part index U16 1,1,2,1 8 12)" "$F1$F2"'\x01\x00\x00\x00'

# Invalid layout parameters and unknown layouts.
for layout in nm:n=3,m=2 nm:n=0,m=2 nm:n=1,m=0 nm:n=-1,m=2 nmg:n=3,m=2,g=1 nmg:n=0,m=2,g=1 \
  nmg:n=1,m=0,g=1; do
  damaged "n=" $layout 2,2 "$(nmg)" "$F1$F2"'\x01\x00'
done
held 50 damaged "g must be >= 1, got 0" nmg:n=1,m=2,g=0 2,2 "$(nmg)" "$F1$F2"'\x01\x00'
for spec in n=300,m=600,g=1 n=8,m=40,g=1 n=1,m=2,g=9223372036854775807; do
  held 51 damaged "$spec: a chunk would have more than 65536 strips" nmg:$spec 2,2 "$(nmg)" "$F1$F2"'\x01\x00'
done
damaged "missing 'm'" nm:n=2 1,4 "$(two_of_four)" "$F1$F2"'\x0d'
damaged "expected an integer as 'm'" nm:n=2,m=4.5 1,4 "$(two_of_four)" "$F1$F2"'\x0d'
damaged "axis must be 0 or 1, got 2" nm:n=2,m=4,axis=2 1,4 "$(two_of_four)" "$F1$F2"'\x0d'
damaged "'bitmask' takes no keys" bitmask:x=1 2,3 "$(bitmask)" '\x26'"$F1$F2$F3"
held 55 damaged "unknown layout 'bitmsk', did you mean 'bitmask'?" bitmsk 2,3 "$(bitmask)" \
  '\x26'"$F1$F2$F3"
damaged "unknown layout 'quadtree' (a layout of an extension needs --load EXT.so or a program that registers 'quadtree'" quadtree 2,3 "$(bitmask)" '\x26'"$F1$F2$F3"
damaged "layout description: dense" dense 2,3 "$(bitmask)" '\x26'"$F1$F2$F3"
damaged "expected a name" '' 2,3 "$(bitmask)" '\x26'"$F1$F2$F3"

# Invalid layout descriptions in the metadata.
described() { # TEXT DESCRIPTION
  safetensors $BAD "{\"__metadata__\":{\"sten:w.weight\":\"${2//\"/\\\"}\"},$(bitmask)}" \
    '\x26'"$F1$F2$F3"
  refused "$1" && expect_err ": 'w.weight': "
}
described 'layout description: expected a JSON object' ''
described 'layout description: expected a JSON object' 'bitmask'
described 'layout description: expected a JSON object' '["bitmask"]'
described 'layout description: expected a JSON object' '{"layout":"bitmask"'
described "layout description: missing 'layout'" '{"shape":[2,3],"dtype":"F32"}'
described "layout description: missing 'shape'" '{"layout":"bitmask","dtype":"F32"}'
described "layout description: missing 'dtype'" '{"layout":"bitmask","shape":[2,3]}'
described 'a field has the wrong type' '{"layout":5,"shape":[2,3],"dtype":"F32"}'
described 'a field has the wrong type' '{"layout":"bitmask","shape":"2,3","dtype":"F32"}'
for extent in -1 1.0 '"2"' null 4611686018427387904 99999999999999999999; do
  described "layout description: expected extents from 0 to 2^62" \
    "{\"layout\":\"bitmask\",\"shape\":[2,$extent],\"dtype\":\"F32\"}"
done
described "shape has" "{\"layout\":\"bitmask\",\"shape\":[1$(repeat 1000 ,1)],\"dtype\":\"F32\"}"
described '' '{"layout":"bitmask","shape":[4611686018427387903,4611686018427387903],"dtype":"F32"}'
described "layout description: unknown dtype 'F33'" '{"layout":"bitmask","shape":[2,3],"dtype":"F33"}'
described 'layout description: expected at most 4096 bytes' "{\"layout\":\"bitmask$(repeat 5000 ' ')\"}"

# Missing and unknown parts.
damaged "missing part 'values'" bitmask 2,3 "$(part mask U8 1 0 1)" '\x26'
damaged "missing part 'mask'" bitmask 2,3 "$(part values F32 3 0 12)" "$F1$F2$F3"
damaged "missing parts" bitmask 2,3 "$(entry v.weight F32 3 0 12)" "$F1$F2$F3"
sparse $BAD bitmask 2,3 "$(bitmask),$(part index U8 1 13 14)" '\x26'"$F1$F2$F3"'\x00'
refused "'w.weight::index': unknown part of the layout bitmask"
sparse $BAD bitmask 2,3 "$(bitmask),$(entry w.weight F32 1 13 17)" '\x26'"$F1$F2$F3$F1"
refused "'w.weight' is stored both dense and in parts"

# A sparse tensor that would only be copied is checked, too, so that damage does not spread.
sparse $BAD bitmask 2,3 "$(bitmask),$(entry b.weight F32 1,2 13 21)" '\x06'"$F1$F2$F3$F1$F2"
for command in "sten-prune $BAD -o out.safetensors --sparsity 0.5 --exclude w.weight" \
  "sten-prune $BAD --dry-run --sparsity 0.5 --exclude w.weight" \
  "sten-convert $BAD -o out.safetensors --to csr --include b.weight"; do
  expect_exit 1 $command
  expect_one_line_err
  expect_err "$BAD: 'w.weight': the mask keeps 2 elements, but 3 values are stored"
  [ ! -e out.safetensors ] || fail "'$command' left an output"
done

rm $BAD
[ -z "$(ls -A)" ] || fail "expected no files left behind, got: $(ls -A)"
