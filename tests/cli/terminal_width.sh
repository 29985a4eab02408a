# SPDX-License-Identifier: Apache-2.0
# Tables fit the width of a terminal, and are complete elsewhere.
. "$(dirname "$0")/_lib.sh"
cd "$T"
ln -s "$MODEL" in.safetensors

expect_exit 0 sten-prune in.safetensors --dry-run --sparsity 0.9
cp out whole
COLUMNS=60 expect_exit 0 sten-prune in.safetensors --dry-run --sparsity 0.9
cmp out whole || fail 'COLUMNS changes what a file gets'
command -v script >/dev/null || exit 0

# at COLUMNS COMMAND: what the terminal shows of the table, in characters.
at() {
  : >err
  COLUMNS=$1 script -qec "$2 2>/dev/null" /dev/null </dev/null | tr -d '\r' >out
  widest out
}
# The longest line of a table; awk counts bytes.
widest() { sed -n '1,/^total/p' "$1" | sed 's/…/./g' | awk '{ print length($0) }' | sort -n | tail -n 1; }
[ "$(at 80 'sten-prune in.safetensors --dry-run --sparsity 0.9')" -le 80 ] || fail 'the table is wider than 80'
expect_out 'columns left out at this width: dtype, '
expect_out '…'
# Names are shortened at what they share: no two look alike.
[ "$(awk '$2 ~ /x/ { print $1 }' out | sort -u | wc -l)" = 25 ] || fail 'shortened names look alike'
grep -q '^total .*90.00 %' out || fail 'the total is gone'
[ "$(at 500 'sten-prune in.safetensors --dry-run --sparsity 0.9')" = "$(widest whole)" ] ||
  fail 'a wide terminal has another table'
cmp out whole || fail 'a wide terminal has other columns'
[ "$(at 72 'sten-energy in.safetensors')" -le 72 ] || fail 'the table of sten-energy is wider than 72'
# A document is not a table.
at 40 'sten-energy in.safetensors --json' >/dev/null
! grep -q '…' out || fail '--json is cut'
