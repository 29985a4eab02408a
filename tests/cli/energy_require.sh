# SPDX-License-Identifier: Apache-2.0
# sten-energy checks patterns (--require) and sparsity (--min-sparsity), and --sweep compares
# structures.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"
sten-prune "$MODEL" -o pruned.safetensors --structure nm:n=2,m=4 -q >/dev/null

expect_exit 0 sten-energy pruned.safetensors --require '*.encoder.*.dense.weight=nm:n=2,m=4' --min-sparsity 0.5
expect_out '2:4'
expect_exit 3 sten-energy pruned.safetensors --require '*.encoder.*.dense.weight=nm:n=1,m=4' -q
expect_err "of the required patterns are violated"
expect_err "blocks break nm:n=1,m=4, first row 0, columns 0 to 3: 2 nonzeros"
expect_one_line_err
# A tensor of rank below 2 cannot have a pattern: it is skipped and counted.
expect_exit 0 sten-energy pruned.safetensors --require '*.encoder.*=nm:n=2,m=4'
expect_out '40 matched by --require are of rank below 2 and were left out'
expect_exit 2 sten-energy pruned.safetensors --require '*.bias=nm:n=2,m=4'
expect_err "'*.bias' matches only tensors of rank below 2"
expect_one_line_err
# The error is one line of readable length, however many patterns are violated.
expect_exit 3 sten-energy pruned.safetensors --require '*=nm:n=1,m=4' -q
expect_one_line_err
expect_err '28 of the required patterns are violated'
[ "$(wc -c <err)" -lt 600 ] || fail 'the error line has 600 bytes or more'
expect_exit 3 sten-energy pruned.safetensors --min-sparsity 0.51 -q
expect_err "sparsity 0.500000 is below --min-sparsity 0.51"
expect_err "0.51 by 12544 zeros"
# A tensor pruned to a sparsity passes --min-sparsity with the same value, although it can have
# fewer zeros: the number of zeros is rounded down (here to 16 of 33 and 4 of 9), and partial blocks
# at the edges keep a larger share.
safetensors odd.safetensors "{$(entry a.weight F32 3,11 0 132),$(entry b.weight F32 3,3 132 168)}" "$(repeat 42 "$F1")"
for how in '--sparsity 0.49' '--sparsity 0.49 --scope global' '--sparsity 0.4444'; do
  expect_exit 0 sten-prune odd.safetensors -o odd.pruned $how --force
  expect_exit 0 sten-energy odd.pruned --min-sparsity $(echo "$how" | cut -d' ' -f2)
done
expect_exit 3 sten-energy odd.pruned --min-sparsity 0.49
for structure in nm:n=1,m=2 nm:n=1,m=4 nm:n=2,m=5 nmg:n=1,m=2,g=1; do
  for to in dense ${structure%%:*}; do
    expect_exit 0 sten-prune odd.safetensors -o odd.pruned --structure $structure --to $to --include a.weight --force
    x=$(echo "$structure" | sed 's/.*n=\([0-9]\),m=\([0-9]\).*/1-\1\/\2/')
    require=
    [ $to != dense ] || require="--require a.weight=$structure"
    expect_exit 0 sten-energy odd.pruned --include a.weight --min-sparsity "$(awk "BEGIN{print $x}")" $require
  done
done
expect_exit 3 sten-energy odd.safetensors --min-sparsity 0.1
expect_exit 2 sten-energy pruned.safetensors --require 'nothing=nm:n=2,m=4'
expect_err "matches none"
expect_exit 2 sten-energy pruned.safetensors --require '*=csr'
expect_err "expected nm or nmg or nmgv"
expect_exit 2 sten-energy pruned.safetensors --plot x.svg
expect_err "belong to --sweep"

few="--include bert.encoder.layer.0.attention.self.key.weight"
expect_exit 0 sten-energy "$MODEL" --sweep $few --plot sweep.svg --report sweep.csv --json
expect_out '"structures": ['
grep -q '<svg' sweep.svg || fail "sweep.svg is not an SVG chart"
grep -q '^"\?n:m:g, g=64' sweep.csv || fail "sweep.csv lacks n:m:g"
grep -q '1:4:16:32' sweep.csv || fail "sweep.csv lacks n:m:g over tiles"
# --summary leaves out only the rows of tensors, so the rows of the sweep stay. The HTML report has
# the same chart.
expect_exit 0 sten-energy "$MODEL" --sweep $few --summary --report sweep.html
expect_out '1:10:4'
[ "$(grep -c '<figure' sweep.html)" = 1 ] || fail "sweep.html does not have exactly one chart"
grep -q 'Energy kept by pruning' sweep.html || fail "sweep.html lacks the chart of the sweep"
expect_exit 2 sten-energy "$MODEL" --sweep $few --plot sweep.svg
expect_err "sweep.svg: exists (use --force to overwrite)"
expect_exit 2 sten-energy "$MODEL" --sweep $few --plot sweep.png
expect_err "expected an .svg file"
expect_exit 2 sten-energy "$MODEL" --sweep --min-sparsity 0.5
