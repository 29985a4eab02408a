# SPDX-License-Identifier: Apache-2.0
# sten-bench gemm: rows for every dense library and layout in every form; the document of --json.
. "$(dirname "$0")/_lib.sh"
cd "$T"

expect_exit 0 sten-bench gemm --shape 24x40x70 --layouts csr:sparsity=0.5 --layouts csr --layouts nmg:n=2,m=4,g=4 --form gemm \
  --form linear --form chain --threads 1 --threads 2 --repeats 2 --json -o b.json -o b.csv -o b.md -o b.svg
cmp out b.json || fail '-o FILE.json differs from --json'
for key in schema machine cpu isa threads peak_gflops dense library gflops results; do
  grep -q "^ *\"$key\":" out || fail "the document lacks $key"
done
for form in gemm linear chain; do
  for layout in csr:sparsity=0.5 csr:sparsity=0.9 '"nmg:n=2,m=4,g=4"'; do
    [ "$(grep -c "^gemm,$form,24x40x70,$layout,," b.csv)" = 2 ] ||
      fail "expected 2 rows of $layout for form $form"
  done
  [ "$(grep -c "^gemm,$form,24x40x70,dense,[^,]*,float32,.*,1,1,1,[^,]*,,,[^,]*,2,\$" b.csv)" -ge 2 ] ||
    fail "$form has no dense product with a ratio of 1"
done
# The time to pack a weight is reported for each layout, form and number of threads, but not for
# dense float32. libxsmm, if installed, packs CSR, too.
theirs=$(grep -c '"library": "libxsmm' out) || true
[ "$theirs" = 0 ] || [ "$theirs" = 12 ] ||
  fail 'expected 0 or 12 rows of libxsmm: 3 forms, 2 numbers of threads, 2 CSR layouts'
low=$(grep -c ',dense,,bf16,' b.csv) || true # dense products by sten itself
[ "$low" = 0 ] || [ "$low" = 6 ] ||
  fail 'expected 0 or 6 rows of dense bfloat16 by sten: 3 forms, 2 numbers of threads'
[ "$(grep -c '"pack_ms": [0-9]' out)" = $((18 + theirs + low)) ] ||
  fail 'pack_ms is not in exactly the rows that pack a weight'
[ "$(grep -c '"pack_products": [0-9]' out)" = $((18 + theirs + low)) ] ||
  fail 'pack_products is not in exactly the rows that pack a weight'
# A baseline without packing times (of an older version) can be compared, too.
grep -v '"pack_' b.json >old.json
expect_exit 0 sten-bench gemm --shape 24x40x70 --layouts nmg:n=2,m=4,g=4 --repeats 2 --against old.json \
  --max-slowdown 1000000
expect_out 'compared with old.json'
expect_out 'pack ms'
grep -q '<svg' b.svg || fail 'b.svg is not an SVG chart'

# Every row has the precision of its product and the error; the fastest product is named.
! grep -q '"precision": null' out || fail 'a row has no precision'
! grep -q '"error": null' out || fail 'a row has no error'
[ "$(grep -c 'fastest of .* 24x40x70, ' b.md)" = 6 ] ||
  fail 'expected the fastest product of 3 forms and 2 numbers of threads'

# Dense bfloat16 by oneDNN is measured if the processor has instructions for it; otherwise the
# output says that it is not measured.
if ! env STEN_ISA=amx sten-bench gemm --shape 8x8x8 --repeats 1 >/dev/null 2>err; then
  expect_err 'STEN_ISA=amx: '
  echo 'bench_gemm: this machine has no tiles'
else
  expect_exit 0 env STEN_ISA=amx sten-bench gemm --shape 32x64x48 --repeats 2 -o amx.csv
  if grep -q 'oneDNN' amx.csv; then
    grep -q '^gemm,gemm,32x64x48,dense,oneDNN [0-9.]*,bf16,.*,amx,' amx.csv ||
      fail 'dense bfloat16 by oneDNN is missing'
    grep -q '^gemm,gemm,32x64x48,dense,,bf16,.*,amx,' amx.csv ||
      fail 'dense bfloat16 by sten is missing'
    expect_out 'dense in bf16 by oneDNN '
    expect_out 'to bf16'
  fi
fi
for isa in avx2 reference; do
  expect_exit 0 env STEN_ISA=$isa sten-bench gemm --shape 8x8x8 --repeats 1
  expect_out 'dense in bf16 is not measured: '
  expect_exit 0 env STEN_ISA=$isa sten-bench gemm --shape 8x8x8 --repeats 1 --precision bf16 --layouts dense -o $isa.csv
  ! grep -q '^gemm,gemm,8x8x8,dense,oneDNN [0-9.]*,bf16,' $isa.csv ||
    fail "dense bfloat16 by oneDNN is measured on $isa, which has no instructions for it"
  grep -q '^gemm,gemm,8x8x8,dense,,bf16,' $isa.csv ||
    fail "dense bfloat16 by sten is missing on $isa"
done
# The requested precisions are measured, and dense float32 as the reference of the ratios.
expect_exit 0 sten-bench gemm --shape 32x64x48 --repeats 1 --precision float32 --precision bfloat16 --precision float16 \
  --precision int8 --form linear -o asked.csv
expect_out 'dense in float16 is not measured: '
for layout in dense csr:sparsity=0.9; do
  grep -q "^gemm,linear,32x64x48,$layout,,bf16," asked.csv || fail "$layout in bfloat16 is missing"
done
grep -q '^gemm,linear,32x64x48,csr:sparsity=0.9,,float32,' asked.csv || fail 'csr in float32 is missing'
# --against compares only rows of the same precision.
sed 's/"precision": "float32"/"precision": "bf16"/' b.json >other.json
expect_exit 1 sten-bench gemm --shape 24x40x70 --layouts nmg:n=2,m=4,g=4 --precision float32 --repeats 1 --against other.json
expect_err 'other.json: none of the measured rows found'

# STEN_ISA limits the dense library, too. The reference uses a built-in loop.
STEN_ISA=reference expect_exit 0 sten-bench gemm --shape 8x8x8 --repeats 1 --json
expect_out '"library": "own loop"'
expect_out '"isa": "reference"'
expect_exit 0 sten-bench gemm --shape 8x8x8 --repeats 1 -v
expect_err 'this process multiplies dense matrices by '
