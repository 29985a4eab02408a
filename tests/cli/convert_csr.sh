# The kept values of every row with their column numbers.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

cd "$T"
sten-prune "$MODEL" -o pruned.safetensors --sparsity 0.9 -q >/dev/null
expect_exit 0 sten-convert pruned.safetensors -o csr.safetensors --to csr
golden convert_csr
# From another layout the same tensors come out.
sten-convert pruned.safetensors -o masked.safetensors --to masked -q >/dev/null
sten-convert masked.safetensors -o again.safetensors --to csr -q >/dev/null
data again.safetensors >got
data csr.safetensors | cmp - got || fail 'csr of masked differs from csr of dense'
