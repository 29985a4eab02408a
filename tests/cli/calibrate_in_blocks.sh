# SPDX-License-Identifier: Apache-2.0
# Calibration in bounded memory: the calibration cache, windows of text, and experts.
. "$(dirname "$0")/_lib.sh"
cd "$T"

MODELS=$STEN_SOURCE/recipes BERT=$STEN_SOURCE/recipes/models/shakespeare-bert
text="$MODELS/data/tinyshakespeare.txt"
bert() { # EXIT ARGUMENT...: prunes the first layer of the BERT
  expect_exit "$1" sten-prune "$BERT" --include 'bert.encoder.layer.0.*.weight' --exclude '*LayerNorm*' \
    --sparsity 0.5 --calibrate-samples 4 "${@:2}"
}

# The cache does not change the output, and is removed at the end.
bert 0 -o plain --method admm --calibrate "$text" --calibrate-window 32
expect_out "calibrated on 4 rows of $text (128 positions)"
bert 0 -o cached --method admm --calibrate "$text" --calibrate-window 32 --calibration-cache cache
cmp plain/model.safetensors cached/model.safetensors
[ ! -e cache ] || fail "the cache was not removed: $(ls cache)"
# A dry run leaves the cache, and the next run continues from it.
bert 0 --dry-run --method admm --calibrate "$text" --calibrate-window 32 --calibration-cache cache
[ -e cache/state.json ] || fail "a dry run did not leave cache/state.json"
refused() { # EXIT TEXT ARGUMENT...
  bert "$1" --dry-run "${@:3}"
  expect_one_line_err
  held 161 expect_err "$2"
}
refused 2 'cache: contains a different calibration: expected the same options' --method sparsegpt --calibrate "$text" --calibrate-window 32 \
  --calibration-cache cache
refused 2 'cache: contains a different calibration: expected the same data' --method admm --calibrate "$text" --calibrate-window 16 \
  --calibration-cache cache
touch cache/notes.txt
refused 2 "cache: expected an empty directory or a calibration cache, found 'notes.txt'" --method admm --calibrate "$text" \
  --calibration-cache cache
rm cache/notes.txt
bert 0 -o continued --method admm --calibrate "$text" --calibrate-window 32 --calibration-cache cache
expect_out 'continued the calibration of cache after 6 of 6 layers'
cmp plain/model.safetensors continued/model.safetensors

expect_exit 2 sten-prune "$BERT" mixture --out-dir both --sparsity 0.5 --method wanda --calibrate "$text" --calibration-cache cache
held 161 expect_err '--calibration-cache is for one model: expected one input, got 2'

# Texts that do not suit the model, and invalid windows.
printf 'short' >short.txt
refused 2 'short.txt: the train split of 4 tokens is shorter than a window of 128' --method wanda --calibrate short.txt
printf '日本語のテキスト%.0s' $(seq 1 200) >ja.txt
refused 1 'ja.txt: expected a text of known tokens: ' --method wanda --calibrate ja.txt
refused 2 'window 9999 is above' --method wanda --calibrate "$text" --calibrate-window 9999
refused 2 '--calibrate-window: expected a text as --calibrate' --method wanda \
  --calibrate "$MODELS/digits-mlp-one-shot.json" --calibrate-window 9

# An expert is calibrated on the tokens that are routed to it.
mkdir mixture stacked
cp "$STEN_SOURCE/tests/nn/decoders/mixtral/"{config.json,model.safetensors} mixture
cp "$STEN_SOURCE/tests/nn/decoders/qwen3_moe-stacked/"{config.json,model.safetensors} stacked
python3 - <<'END'
import json, string
letters = (string.ascii_letters + string.digits)[:61]
for model in ("mixture", "stacked"):
    json.dump({c: i for i, c in enumerate(letters)}, open(model + "/vocab.json", "w"))
open("letters.txt", "w").write("".join(letters[(7 * i + i * i // 5) % 61] for i in range(2000)))
END
expect_exit 0 sten-prune mixture -o pruned --method sparsegpt --structure 2:4 --calibrate letters.txt --calibrate-samples 4 \
  --calibrate-window 32 --json --exclude '*gate.weight'
expect_out '"name": "model.layers.1.block_sparse_moe.experts.3.w2.weight"'
expect_out '"error": 0.0'
# An expert without tokens has no statistics and is pruned by magnitude.
expect_exit 0 sten-prune mixture --dry-run --method wanda --sparsity 0.5 --calibrate letters.txt --calibrate-samples 1 \
  --calibrate-window 1 --exclude '*gate.weight'
expect_out 'weights of experts got no tokens: pruned by magnitude'
# A tensor that stacks all experts is not calibrated.
expect_exit 0 sten-prune stacked --dry-run --method wanda --sparsity 0.5 --calibrate letters.txt --calibrate-samples 4 \
  --calibrate-window 32
expect_out '4 stacks of experts, not calibrated'

# The memory is limited until sten-prune fails: enough to load the libraries, but less than the
# calibration needs. With sanitizers, which reserve more than the limit, this is skipped.
if (ulimit -v 600000 && sten-prune --version >/dev/null 2>&1); then
  for limit in $(seq 600000 -40000 40000); do
    status=0
    (ulimit -v "$limit" && exec sten-prune "$BERT" --dry-run --sparsity 0.5 --method wanda --threads 1 -q \
      --include 'bert.encoder.layer.0.*.weight' --exclude '*LayerNorm*' --calibrate "$text") >out 2>err || status=$?
    [ $status != 0 ] || continue
    [ $status = 1 ] || fail "sten-prune with $limit KiB: expected exit code 1, got $status"
    expect_one_line_err
    held 161 expect_err 'out of memory'
    break
  done
  [ $status = 1 ] || fail "sten-prune succeeds with every memory limit, down to $limit KiB"
fi
