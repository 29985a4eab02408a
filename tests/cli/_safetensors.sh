# SPDX-License-Identifier: Apache-2.0
# Writes safetensors files by hand, valid and invalid. After _lib.sh:
#   . "$(dirname "$0")/_safetensors.sh"

# le64 N...: each number as 8 bytes, least significant first.
le64() {
  local n i hex
  for n in "$@"; do
    for i in 1 2 3 4 5 6 7 8; do
      printf -v hex '\\x%02x' $((n & 255))
      printf '%b' "$hex"
      n=$((n >> 8))
    done
  done
}

# safetensors FILE HEADER [DATA]: HEADER is the JSON text, DATA in the escapes of printf '%b'.
safetensors() {
  local LC_ALL=C # ${#2} counts bytes
  { le64 ${#2} && printf '%s%b' "$2" "${3-}"; } >"$1"
}

# entry NAME DTYPE SHAPE BEGIN END: a tensor of the header, SHAPE as in "2,4".
entry() { printf '"%s":{"dtype":"%s","shape":[%s],"data_offsets":[%s,%s]}' "$@"; }

# repeat N TEXT
repeat() { if [ "$1" -gt 0 ]; then yes "$2" | head -n "$1" | tr -d "\n"; fi; }

# DATA of float32.
F0='\x00\x00\x00\x00'
F1='\x00\x00\x80\x3f'
F2='\x00\x00\x00\x40'
F3='\x00\x00\x40\x40'
F4='\x00\x00\x80\x40'

# data_offset FILE: where its data begin.
data_offset() { echo $((8 + $(od -An -tu8 -N8 "$1"))); }

# header FILE: its JSON text as a line, without the blanks at the end.
header() { tail -c +9 "$1" | head -c "$(od -An -tu8 -N8 "$1")" | sed -e 's/ *$//' -e '$a\'; }

# data FILE: everything behind the header, on stdout.
data() { tail -c +$(($(data_offset "$1") + 1)) "$1"; }

# refused TEXT: of the file $BAD each of $PROGRAMS says so in one line, prints nothing and leaves
# no out.safetensors.
PROGRAMS='sten-prune sten-convert sten-energy'
BAD=bad.safetensors
refused() {
  local program command lines
  for program in $PROGRAMS; do
    case $program in
      sten-prune) command="$program $BAD -o out.safetensors --sparsity 0.5" ;;
      sten-convert) command="$program $BAD -o out.safetensors --to bitmask" ;;
      sten-energy) command="$program $BAD" ;;
    esac
    expect_exit 1 $command
    [ ! -s "$T/out" ] || fail "'$command' printed something"
    mapfile -t lines <"$T/err"
    [ ${#lines[@]} = 1 ] || fail "'$command': stderr is not one line"
    case ${lines[0]} in
      "$program: $BAD: "*"$1"*) ;;
      *) fail "'$command' did not say '$1'" ;;
    esac
    [ ! -e out.safetensors ] || fail "'$command' left an output"
  done
}

# sparse FILE LAYOUT SHAPE ENTRIES DATA: one float32 tensor 'w.weight' in a sparse layout.
sparse() {
  local meta='{\"layout\":\"'$2'\",\"shape\":['$3'],\"dtype\":\"F32\"}'
  safetensors "$1" "{\"__metadata__\":{\"sten:w.weight\":\"$meta\"},$4}" "$5"
}

# part NAME DTYPE SHAPE BEGIN END: an entry of that tensor.
part() { entry "w.weight::$1" "${@:2}"; }
