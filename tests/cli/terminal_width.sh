# SPDX-License-Identifier: Apache-2.0
# Tables fit the width of the terminal, and are complete in files and pipes.
. "$(dirname "$0")/_lib.sh"
cd "$T"
ln -s "$MODEL" in.safetensors

expect_exit 0 sten-prune in.safetensors --dry-run --sparsity 0.9
cp out whole
COLUMNS=60 expect_exit 0 sten-prune in.safetensors --dry-run --sparsity 0.9
cmp out whole || fail 'COLUMNS changes the output to a file'
command -v script >/dev/null || exit 0

# at COLUMNS COMMAND: the width of the table on a terminal, in characters.
at() {
  : >err
  COLUMNS=$1 script -qec "$2 2>/dev/null" /dev/null </dev/null | tr -d '\r' >out
  widest out
}
# widest FILE: the length of the longest line of the table. awk counts bytes, hence the sed command.
widest() { sed -n '1,/^total/p' "$1" | sed 's/…/./g' | awk '{ print length($0) }' | sort -n | tail -n 1; }
[ "$(at 80 'sten-prune in.safetensors --dry-run --sparsity 0.9')" -le 80 ] || fail 'the table is wider than 80 columns'
expect_out 'columns left out at this width: dtype, '
expect_out '…'
# Names are shortened in the part that they share, so that they stay distinct.
[ "$(awk '$2 ~ /x/ { print $1 }' out | sort -u | wc -l)" = 25 ] ||
  fail 'the 25 shortened names are not distinct'
grep -q '^total .*90.00 %' out || fail 'the table lacks the total'
[ "$(at 500 'sten-prune in.safetensors --dry-run --sparsity 0.9')" = "$(widest whole)" ] ||
  fail 'the table on a wide terminal does not have its full width'
cmp out whole || fail 'the table on a wide terminal differs from the table in a file'
[ "$(at 72 'sten-energy in.safetensors')" -le 72 ] || fail 'the table of sten-energy is wider than 72 columns'
# JSON is not fitted to the terminal.
at 40 'sten-energy in.safetensors --json' >/dev/null
! grep -q '…' out || fail '--json output is shortened'
