# SPDX-License-Identifier: Apache-2.0
# Small files that claim large tensors: time and memory stay proportional to the stored bytes, or
# the tensor is rejected.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

# The memory limit is far above the need and far below the claimed sizes. Sanitizers reserve more
# address space than any limit, so only the time is limited with them.
bounded() { (ulimit -d 400000 && timeout 60 "$@"); }
unlimited() { timeout 60 "$@"; }
if bounded sten-energy --version >out 2>&1; then limit=bounded; else limit=unlimited; fi
i32() { printf '\\x%02x\\x%02x\\x%02x\\x%02x' $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24 & 255)); }
ok() { expect_exit 0 $limit "$@"; }
refused_by() { # TEXT COMMAND...
  expect_exit 1 $limit "${@:2}"
  expect_one_line_err
  expect_err "'w.weight': $1"
  [ ! -e new ] || fail 'a rejected run left an output'
}

# The reported peak memory is that of the program, not that of its parent process. It is not checked
# with sanitizers, which need as much themselves.
if [ $limit = bounded ]; then
  (
    big=$(head -c 150000000 /dev/zero | tr '\0' x)
    expect_exit 0 sten-energy "$MODEL" --summary
  )
  peak=$(sed -n 's/.* s, peak memory \([0-9]*\).* MB$/\1/p' err)
  [ "$peak" -lt 100 ] || fail "a small checkpoint needs $peak MB, expected less than 100 MB"
fi

# Empty tensors with a huge number of rows or columns.
for shape in 1099511627776,0 0,3000000000 3000000000,0; do
  safetensors in.safetensors "{$(entry w.weight F32 $shape 0 0)}"
  for pattern in nm:n=2,m=4 nm:n=2,m=4,axis=0 nmg:n=2,m=4,g=4 nmg:n=2,m=4,g=4,axis=1; do
    ok sten-energy in.safetensors --require "*=$pattern"
  done
  held 87 ok sten-energy in.safetensors --against in.safetensors
  for to in bitmask masked nm:n=2,m=4 nmg:n=2,m=4,g=4; do
    ok sten-convert in.safetensors -o new --to $to
    ok sten-energy new
    ok sten-energy --diff in.safetensors new
    rm new
  done
  ok sten-convert in.safetensors -o new --to auto
  ok sten-energy --list new
  rm new
  ok sten-prune in.safetensors -o new --sparsity 0.5
  rm new
done

# One nonzero among 900 million elements, and among 2^51.
coo() { # SHAPE
  sparse in.safetensors coo "$1" \
    "$(part row I32 1 0 4),$(part col I32 1 4 8),$(part values F32 1 8 12)" "$(i32 5)$(i32 7)$F3"
}
coo 30000,30000
for to in csr csc coo ell bcsr:h=4,w=4; do
  held 88 ok sten-convert in.safetensors -o new --to $to --json
  expect_out '"stored": 1,'
  ok sten-energy new --against in.safetensors --require '*=nm:n=1,m=4' \
    --require '*=nm:n=1,m=20,axis=0' --require '*=nmg:n=1,m=4,g=4' --json
  expect_out '"nnz": 1,'
  expect_out '"energy": 1.0,'
  expect_out '"bytes_bcsr": 60078,'
  ok sten-energy --diff in.safetensors new
  ok sten-energy --list new --json
  ok sten-convert new -o auto --to auto --json
  expect_out '"to": "coo",'
  rm new auto
done
held 94 refused_by 'coo of 900000000 elements in 12 B would be a dense tensor' sten-energy in.safetensors --sweep
coo 2147483647,1048576
ok sten-energy in.safetensors --json
expect_out '"nnz": 1,'
ok sten-convert in.safetensors -o new --to csc
ok sten-convert new -o again --to coo
data in.safetensors >wanted
data again | cmp - wanted || fail 'conversion from coo to csc and back changed the data'
rm new again
if [ $limit = bounded ]; then
  for to in csr ell dense bitmask bcsr:h=4,w=4; do
    refused_by 'out of memory' sten-convert in.safetensors -o new --to $to
  done
  refused_by 'out of memory' sten-prune in.safetensors -o new --sparsity 0.5 --include w.weight
fi

# Tensors whose total size overflows 64 bits.
sizes=
entries=
for i in $(seq 40); do
  sizes+=',"sten:'$i'":"{\"layout\":\"ell\",\"shape\":[144115188075855872,1],\"dtype\":\"F32\"}"'
  entries+=,$(entry $i::index I32 144115188075855872,0 0 0),$(entry $i::values F32 144115188075855872,0 0 0)
done
safetensors in.safetensors "{\"__metadata__\":{${sizes#,}}$entries}"
ok sten-energy in.safetensors --json
expect_out '"sparsity": 1.0,'

# Row and column indices have 32 bits.
ptr_one=$(le64 0 1 | od -An -v -tx1 | tr -d '\n' | sed 's/ /\\x/g')
line() { # LAYOUT SHAPE
  sparse in.safetensors $1 $2 \
    "$(part ptr I64 2 0 16),$(part index I32 1 16 20),$(part values F32 1 20 24)" "$ptr_one$(i32 5)$F1"
}
line csc 2147483648,1
refused_by 'csc: 2147483648 rows do not fit 32-bit row indices' sten-energy in.safetensors
refused_by 'csc: 2147483648 rows do not fit' sten-convert in.safetensors -o new --to csr
line csr 1,2147483648
refused_by 'csr: 2147483648 columns do not fit 32-bit column indices' sten-energy in.safetensors
line csc 2147483647,1
ok sten-energy in.safetensors
ok sten-convert in.safetensors -o new --to coo
rm new
line csr 1,2147483647
ok sten-convert in.safetensors -o new --to bcsr:h=4,w=4
rm new
sparse in.safetensors ell 2147483648,2 \
  "$(part index I32 2147483648,0 0 0),$(part values F32 2147483648,0 0 0)" ''
ok sten-energy in.safetensors
expect_out ' 100.00 %'
[ $limit = unlimited ] || refused_by 'out of memory' sten-convert in.safetensors -o new --to csr

# Structures that need a pattern table of 65536 x 65536 for a tensor of 4 elements are rejected.
safetensors in.safetensors "{$(entry w.weight F32 2,2 0 16)}" "$F1$F2$F3$F4"
for spec in nmg:n=1,m=65536,g=1 nmg:n=1,m=16384,g=4; do
  refused_by "n=1" sten-convert in.safetensors -o new --to $spec
  refused_by "n=1" sten-prune in.safetensors -o new --structure $spec
done

# Twenty thousand tensors, and as many masks and rules.
many() { # FILE DTYPE WIDTH
  awk -v n=20000 -v d=$2 -v w=$3 'BEGIN {
    for (i = 0; i < n; ++i)
      printf "%s\"l.%d.weight\":{\"dtype\":\"%s\",\"shape\":[1,2],\"data_offsets\":[%d,%d]}",
        i ? "," : "", i, d, 2 * w * i, 2 * w * (i + 1) }' >header
  { le64 $(($(wc -c <header) + 2)) && printf '{' && cat header && printf '}'; } >"$1"
}
many in.safetensors F32 4
truncate -s $(($(data_offset in.safetensors) + 160000)) in.safetensors
many masks.safetensors BOOL 1
truncate -s $(($(data_offset masks.safetensors) + 40000)) masks.safetensors
awk 'BEGIN { for (i = 0; i < 20000; ++i) printf "l.%d.weight=per-block:n=1,m=2\n", i }' >rules
expect_exit 0 timeout 120 sten-prune in.safetensors --dry-run --mask masks.safetensors --summary
expect_exit 0 timeout 120 sten-prune in.safetensors --dry-run --rules rules --summary
held 89 expect_exit 0 timeout 120 sten-energy in.safetensors --against in.safetensors --summary

# An input with directories too deep for any path is rejected.
mkdir deep
cp "$MODEL" deep
(
  cd deep
  level=$(repeat 250 d)
  for _ in $(seq 20); do
    mkdir "$level"
    cd "$level"
  done
)
expect_exit 1 timeout 30 sten-prune deep -o new --sparsity 0.5
expect_one_line_err
held 95 expect_err 'File name too long'
[ -z "$(find . -maxdepth 1 -name '.new*')" ] || fail 'a temporary output was left'

# An error quotes only a part of a long line of a file.
repeat 200000 word >rules
expect_exit 2 sten-prune in.safetensors --dry-run --rules rules
expect_one_line_err
[ "$(wc -c <err)" -lt 1000 ] || fail "expected an error of less than 1000 bytes, got $(wc -c <err)"
