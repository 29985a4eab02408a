# SPDX-License-Identifier: Apache-2.0
# Writes ONNX models from the shell: protobuf messages as hexadecimal text.

hex_of() { printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n'; } # hex_of TEXT
varint() {                                                    # varint N
  local n=$1
  while [ "$n" -ge 128 ]; do
    printf '%02x' $((n % 128 + 128))
    n=$((n / 128))
  done
  printf '%02x' "$n"
}
number() { varint $(($1 * 8)) && varint "$2"; }                           # number FIELD N
message() { varint $(($1 * 8 + 2)) && varint $((${#2} / 2)) && echo -n "$2"; } # message FIELD HEX
text() { message "$1" "$(hex_of "$2")"; }                                  # text FIELD TEXT
# tensor NAME ROWS COLUMNS ELEMENTS: an initializer of FLOAT, ELEMENTS being its other fields.
tensor() { message 5 "$(number 1 "$2")$(number 1 "$3")$(number 2 1)$(text 8 "$1")$4"; }
# entry_of KEY VALUE: of external data.
entry_of() { message 13 "$(text 1 "$1")$(text 2 "$2")"; }
external() { echo -n "$(entry_of location "$1")$(entry_of offset "$2")$(number 14 1)"; } # external FILE OFFSET
# node OPERATOR NAME X W Y [FIELDS]
node() { message 1 "$(text 1 "$3")$(text 1 "$4")$(text 2 "$5")$(text 3 "$2")$(text 4 "$1")${6-}"; }
trans_b=$(message 5 "$(text 1 transB)$(number 3 1)$(number 20 2)")
# model GRAPH: the bytes.
model() {
  local all
  all=$(number 1 8)$(text 2 sten)$(message 7 "$1$(text 2 graph)")$(message 8 "$(number 2 17)")
  printf '%b' "$(printf '%s' "$all" | sed 's/../\\x&/g')"
}
# floats N...: of small whole numbers, as their bytes.
floats() {
  local n
  for n in "$@"; do
    case $n in
      0) echo -n 00000000 ;;
      1) echo -n 0000803f ;;
      2) echo -n 00000040 ;;
      3) echo -n 00004040 ;;
      4) echo -n 00008040 ;;
      5) echo -n 0000a040 ;;
      6) echo -n 0000c040 ;;
      7) echo -n 0000e040 ;;
      8) echo -n 00000041 ;;
    esac
  done
}
bytes_of() { printf '%b' "$(printf '%s' "$1" | sed 's/../\\x&/g')"; } # bytes_of HEX
