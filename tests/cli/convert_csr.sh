# SPDX-License-Identifier: Apache-2.0
# csr: the kept values of every row with their column indices.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

cd "$T"
sten-prune "$MODEL" -o pruned.safetensors --sparsity 0.9 -q >/dev/null
expect_exit 0 sten-convert pruned.safetensors -o csr.safetensors --to csr
golden convert_csr
# A conversion from another layout gives the same tensors.
sten-convert pruned.safetensors -o masked.safetensors --to masked -q >/dev/null
sten-convert masked.safetensors -o again.safetensors --to csr -q >/dev/null
data again.safetensors >got
data csr.safetensors | cmp - got || fail 'csr of masked differs from csr of dense'
# -v prints the conversion route of each tensor.
sten-convert csr.safetensors -o coo.safetensors --to coo -v >/dev/null 2>err
way='key.weight: csr -> coo: lossless edges'
grep -q "^sten-convert: .*$way\$" err || fail "-v lacks '$way'"
sten-convert csr.safetensors -o dense.safetensors --to masked -v >/dev/null 2>err
way='key.weight: csr -> dense -> masked: no lossless edges lead from csr to masked'
grep -q "^sten-convert: .*$way\$" err || fail "-v lacks '$way'"
