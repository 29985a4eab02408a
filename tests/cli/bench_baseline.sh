# SPDX-License-Identifier: Apache-2.0
# sten-bench --against compares ratios with an earlier run, and rejects runs of another machine.
. "$(dirname "$0")/_lib.sh"
cd "$T"

bench() { sten-bench convert --shape 40x60 --layouts nmg:n=1,m=10,g=2 --repeats 3 "$@"; }
expect_exit 0 bench -o base.json

# A baseline whose ratios are a thousandth (a thousand times) of these is certainly slower (faster).
doctored() { # doctored FACTOR FILE: base.json with its ratios multiplied by FACTOR
  awk -v f="$1" '/"ratio(_low|_high)?": [0-9]/ {
    comma = /,$/ ? "," : ""; split($0, part, ": "); sub(/,$/, "", part[2])
    printf "%s: %.9f%s\n", part[1], part[2] * f, comma; next } { print }' base.json >"$2"
}
doctored 0.001 slow.json
doctored 1000 fast.json
expect_exit 0 bench --against slow.json -o kept.json
expect_out 'compared with slow.json'
[ -s kept.json ] || fail 'the results of a passed check were not written'
expect_exit 3 bench --against fast.json -o lost.json
expect_err 'times slower than in fast.json'
expect_out 'nmg:n=1,m=10,g=2'
grep -q '"ok": false' lost.json || fail 'the report of a failed check lacks "ok": false'
grep -q '"reason": ".*times slower than in fast.json' lost.json ||
  fail 'the report of a failed check does not state the reason'
expect_exit 0 bench --against fast.json --max-slowdown 1000000
# The JSON output has the slowdown.
expect_exit 0 bench --against slow.json --json
expect_out '"slowdown": '

sed 's/"cpu": ".*"/"cpu": "Z80"/' base.json >cpu.json
sed 's/"isa": ".*"/"isa": "mmx"/' base.json >isa.json
for wrong in cpu isa; do
  expect_exit 1 bench --against $wrong.json
  expect_one_line_err
  expect_err "$wrong.json: measured"
  [ ! -s out ] || fail 'a result was printed'
done
# Rows of the baseline that were not measured are ignored; no row in common is an error.
expect_exit 1 sten-bench convert --shape 40x61 --layouts nmg:n=1,m=10,g=2 --repeats 1 --against base.json
expect_err 'base.json: none of the measured rows found'

for text in '' '{' '[]' '{"schema": 2}' '{"schema": 1, "machine": {"cpu": 3}}' '{"schema": 1, "results": 5}'; do
  printf '%s' "$text" >bad.json
  expect_exit 1 bench --against bad.json
  expect_one_line_err
  expect_err 'bad.json: '
done
expect_exit 1 bench --against missing.json
expect_err 'missing.json: cannot read the file'
