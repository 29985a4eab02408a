# What sten-energy asks of a file: patterns, sparsity; and the sweep.
. "$(dirname "$0")/_lib.sh"
cd "$T"
sten-prune "$MODEL" -o pruned.safetensors --structure nm:n=2,m=4 -q >/dev/null

expect_exit 0 sten-energy pruned.safetensors --require '*.encoder.*.dense.weight=nm:n=2,m=4' --min-sparsity 0.5
expect_out '2:4'
expect_exit 3 sten-energy pruned.safetensors --require '*.encoder.*.dense.weight=nm:n=1,m=4' -q
expect_err "of the required patterns are broken"
expect_err "blocks break nm:n=1,m=4, first row 0, columns 0 to 3: 2 nonzeros"
expect_one_line_err
# What has no rows and columns cannot have a pattern: it is skipped and counted.
expect_exit 0 sten-energy pruned.safetensors --require '*.encoder.*=nm:n=2,m=4'
expect_out '40 matched by --require are of rank below 2 and were left out'
expect_exit 2 sten-energy pruned.safetensors --require '*.bias=nm:n=2,m=4'
expect_err "'*.bias' matches no tensor that can have a pattern"
expect_one_line_err
# One line of readable length, however many are broken.
expect_exit 3 sten-energy pruned.safetensors --require '*=nm:n=1,m=4' -q
expect_one_line_err
expect_err '28 of the required patterns are broken'
[ "$(wc -c <err)" -lt 600 ] || fail 'the line is too long to read'
expect_exit 3 sten-energy pruned.safetensors --min-sparsity 0.51 -q
expect_err "sparsity 0.500000 is below --min-sparsity 0.51"
expect_exit 2 sten-energy pruned.safetensors --require 'nothing=nm:n=2,m=4'
expect_err "matches none"
expect_exit 2 sten-energy pruned.safetensors --require '*=csr'
expect_err "nm or nmg is expected"
expect_exit 2 sten-energy pruned.safetensors --plot x.svg
expect_err "belong to --sweep"

few="--include bert.encoder.layer.0.attention.self.key.weight"
expect_exit 0 sten-energy "$MODEL" --sweep $few --plot sweep.svg --report sweep.csv --json
expect_out '"structures": ['
grep -q '<svg' sweep.svg || fail "there is no chart"
grep -q '^"\?n:m:g, g=64' sweep.csv || fail "the table lacks n:m:g"
# Its rows are no tensors, which is all that --summary leaves out; a page has the same chart.
expect_exit 0 sten-energy "$MODEL" --sweep $few --summary --report sweep.html
expect_out '1:10:4'
[ "$(grep -c 'class="chart"' sweep.html)" = 1 ] || fail "the page has another chart than the sweep's"
grep -q 'Energy kept by pruning' sweep.html || fail "the page lacks the sweep's chart"
expect_exit 2 sten-energy "$MODEL" --sweep $few --plot sweep.svg
expect_err "sweep.svg: exists; --force replaces it"
expect_exit 2 sten-energy "$MODEL" --sweep $few --plot sweep.png
expect_err "the chart is an .svg file"
expect_exit 2 sten-energy "$MODEL" --sweep --min-sparsity 0.5
