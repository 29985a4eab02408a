# SPDX-License-Identifier: Apache-2.0
# recipes/finetune/bert_mlm_torch.py trains two steps with masks in PyTorch.
. "$(dirname "$0")/_lib.sh"
for python in "${STEN_PYTHON:-}" "$STEN_BIN/../venv/bin/python" python3 skip; do
  [ "$python" != skip ] || {
    echo 'skipped: found no Python with torch, transformers and safetensors (set STEN_PYTHON to one)'
    exit 77
  }
  [ -n "$python" ] && "$python" -c 'import torch, transformers, safetensors' 2>/dev/null && break
done
cd "$T"
model=$STEN_SOURCE/recipes/models/shakespeare-bert
expect_exit 0 sten-prune "$model" -o pruned --sparsity 0.9 --mask-out masks.safetensors -q
expect_exit 0 "$python" "$STEN_SOURCE/recipes/finetune/bert_mlm_torch.py" tune pruned tuned \
  --masks masks.safetensors --steps 2 --batch 2
cmp -s pruned/model.safetensors tuned/model.safetensors && fail 'training changed no weights'
expect_exit 0 sten-energy tuned --include 'bert.encoder.*.weight' --exclude '*LayerNorm*' --summary
expect_out ' 90.00 %'
