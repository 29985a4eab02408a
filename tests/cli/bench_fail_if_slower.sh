# SPDX-License-Identifier: Apache-2.0
# sten-bench names layouts that are slower than dense; only then does --fail-if-slower exit with 3.
. "$(dirname "$0")/_lib.sh"
cd "$T"
for bench in 'gemm --shape 8x8x8' "model --shape 1x32x40 --batch 1 --window 8 --precision float32"; do
  status=0
  sten-bench $bench --layouts csr:sparsity=0.1 --repeats 3 --fail-if-slower -o all.json --force >out 2>err || status=$?
  case $status in
    0) ! grep -q 'slower' out || fail "'$bench' names a slower layout but exits with 0" ;;
    3)
      grep -q 'slower than dense on this machine: 1 of 1 layouts, .* csr:sparsity=0.1 ' out || fail 'the layout is not named'
      expect_err 'slower than dense on this machine: '
      grep -q '"slower_than_dense": ' all.json || fail 'the report does not name the layout'
      grep -q '"ok": false' all.json || fail 'the report lacks "ok": false'
      ;;
    *) fail "'$bench': expected exit code 0 or 3, got $status" ;;
  esac
  expect_exit 0 sten-bench $bench --layouts dense --repeats 1 --fail-if-slower
done
expect_exit 2 sten-bench convert --fail-if-slower
expect_one_line_err
expect_err '--fail-if-slower belongs to gemm and model'

# The output names layouts whose zeros are multiplied like other values; each row counts such
# weights.
small='model --precision float32 --shape 1x32x40 --batch 1 --window 8 --repeats 1'
expect_exit 0 sten-bench $small --layouts masked:sparsity=0.9 --layouts csr:sparsity=0.9
expect_out 'masked:sparsity=0.9: linear ignores the zeros of 6 of 6 sparse weights (6 in masked)'
! grep -q 'csr:sparsity=0.9: .* ignore' out || fail 'csr is reported to ignore zeros'
expect_exit 0 sten-bench $small --layouts masked:sparsity=0.9 --json
expect_out '"ignored_zeros": 6'
expect_out '"ignored_zeros": 0'
