# SPDX-License-Identifier: Apache-2.0
# Conversion to every layout and back to dense preserves every byte of the data.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

cd "$T"
# round_trip FILE LAYOUT...
round_trip() {
  data "$1" >wanted
  for to in "${@:2}"; do
    expect_exit 0 sten-convert "$1" -o sparse.safetensors --to $to --lossless --force
    header sparse.safetensors | grep -qF '"sten:' || fail "$to: no tensor is stored sparse"
    expect_exit 0 sten-convert sparse.safetensors -o dense.safetensors --to dense --force
    header dense.safetensors | grep -qF '"sten:' && fail "$to: a tensor is sparse after --to dense"
    data dense.safetensors | cmp - wanted || fail "converting $1 to $to and back changed the data"
  done
}

sten-prune "$MODEL" -o magnitude.safetensors --sparsity 0.9 -q >/dev/null
sten-prune "$MODEL" -o nm.safetensors --structure nm:n=2,m=4 -q >/dev/null
sten-prune "$MODEL" -o nmg.safetensors --structure nmg:n=2,m=4,g=2,axis=1 -q >/dev/null
sten-prune "$MODEL" -o nmgv.safetensors --structure 1:4:2:32 -q >/dev/null
round_trip "$MODEL" masked csr bcsr:h=4,w=4
round_trip magnitude.safetensors bitmask csr bcsr:h=3,w=5
round_trip nm.safetensors nm:n=2,m=4 nm:n=4,m=8
round_trip nmg.safetensors nmg:n=2,m=4,g=2,axis=1
round_trip nmgv.safetensors 1:4:2:32 csr bitmask

# A chain of conversions through all of these layouts preserves the data, too.
cp nmg.safetensors now.safetensors
for to in masked nmg:n=2,m=4,g=2,axis=1 csr bcsr:h=4,w=4 nm:n=2,m=4 bitmask dense; do
  expect_exit 0 sten-convert now.safetensors -o next.safetensors --to $to --lossless
  mv next.safetensors now.safetensors
done
data nmg.safetensors >wanted
data now.safetensors | cmp - wanted || fail 'the chain of conversions changed the data'

# Tensors of these dtypes and odd shapes are preserved bit by bit, including -0, infinities and NaN
# payloads.
bits='\x00\x01\x80\x7f\xff\x00\xf0\x3c\x00\x80\x00\xfc\x01\x7c\xc0\xff\x55\xaa\x00\x00\x10\x20\x30\x40'
for dtype in F64,1,3 F32,2,3 BF16,4,3 F8_E4M3,24,1 F8_E5M2,2,3,4 I64,3,1 I16,12,1 BOOL,1,24; do
  safetensors in.safetensors "{$(entry 'a' ${dtype%%,*} ${dtype#*,} 0 24)}" "$bits"
  data in.safetensors >wanted
  for to in masked bitmask csr bcsr:h=2,w=2 nm:n=2,m=2 nm:n=1,m=1,axis=0 nmg:n=2,m=2,g=2 nmgv:n=2,m=2,g=2,v=4; do
    expect_exit 0 sten-convert in.safetensors -o sparse.safetensors --to $to --include a --force
    expect_exit 0 sten-convert sparse.safetensors -o dense.safetensors --to dense --force
    data dense.safetensors | cmp - wanted || fail "converting $dtype to $to and back changed it"
  done
done
