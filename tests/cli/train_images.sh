# SPDX-License-Identifier: Apache-2.0
# A convolutional model on images in MNIST's format: dense, one-shot pruning and n:m. Inference uses
# the running statistics. A killed and resumed run gives the bytes of an uninterrupted one.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_kill.sh"
cd "$T"

# The digits as idx files, [N, 8, 8] and [N].
u32() { printf '\\%03o\\%03o\\%03o\\%03o' $(($1 >> 24)) $(($1 >> 16 & 255)) $(($1 >> 8 & 255)) $(($1 & 255)); }
digits() { sed 1d "$STEN_SOURCE/recipes/data/digits.csv" | head -400; }
bytes() { tr '\n,' '  ' | awk '{ for (i = 1; i <= NF; ++i) printf "\\%03o", $i }'; }
{
  printf '\0\0\010\003'
  printf "$(u32 400)$(u32 8)$(u32 8)"
  printf "$(digits | cut -d, -f1-64 | bytes)"
} >images.idx
{
  printf '\0\0\010\001'
  printf "$(u32 400)"
  printf "$(digits | cut -d, -f65 | bytes)"
} >labels.idx
[ "$(wc -c <images.idx)" = $((16 + 400 * 64)) ] || fail 'images.idx has the wrong size'

RECIPE=$T/recipe.json
cat >"$RECIPE" <<'EOF'
{
  "schema": 1,
  "model": {"kind": "wide-resnet", "depth": 10, "width": 1, "classes": 10, "channels": 1, "dropout": 0.1},
  "data": {"kind": "arrays", "features": "images.idx", "labels": "labels.idx", "scale": 0.0625},
  "optimizer": {"kind": "sgd", "rate": 0.05, "momentum": 0.9, "nesterov": true, "weight_decay": 0.0005},
  "steps": 60,
  "evaluation": {"every": 20, "keep_best": true},
  "checkpoints": {"every": 10, "keep": 3},
  "logging": {"every": 5}
}
EOF
# As in _recipe.sh, all runs use the same library for matrix products.
sten-train "$RECIPE" --out chosen --set steps=1 -q >/dev/null
PRODUCTS=$(sed -n 's/.*"products": "\([A-Za-z]*\).*/\L\1/p' chosen/checkpoints/*/state.json)
train() { sten-train "$RECIPE" --out "$1" -q --threads 1 --set products="$PRODUCTS" "${@:2}"; }
files() { (cd "$1" && find . -name '*.safetensors' | LC_ALL=C sort | xargs sha256sum); }
accuracy() { sed -n 's/.*"split":"validation".*"accuracy":\([0-9.]*\).*/\1/p' "$1/metrics.jsonl" | tail -1; }

all='sparsity=[{"target":"block*.weight","sparsifier":"BY","mask":{"refresh":15}}]'
for by in '' magnitude:sparsity=0.5 nm:n=2,m=4 nmg:n=1,m=4,g=4; do
  sparse=()
  [ -z "$by" ] || sparse=(--set "${all/BY/$by}")
  rm -rf run
  train run "${sparse[@]}" >/dev/null
  awk -v a="$(accuracy run)" 'BEGIN { exit !(a > 0.5) }' || fail "$by: expected an accuracy above 0.5, got $(accuracy run)"
  sten-energy run/model.safetensors --list >out
  grep -q 'block1.layer.0.bn1.running_mean' out || fail 'the model has no running statistics'
done

# A ResNet trains on the same files.
train resnet --set 'model={"kind":"resnet","depth":18,"classes":10,"channels":1,"width":8,"stem":"cifar"}' \
  --set 'optimizer={"rate":0.003}' >/dev/null
awk -v a="$(accuracy resnet)" 'BEGIN { exit !(a > 0.5) }' || fail "ResNet: expected an accuracy above 0.5, got $(accuracy resnet)"

at_work() { [ -e run/recipe.json ] && [ ! -e run/summary.json ]; }
rm -rf run
sparse=(--set "${all/BY/magnitude:sparsity=0.5}")
watch train run "${sparse[@]}"
files run >wanted
for i in 1 2 3; do
  rm -rf run
  kill_at $i 3 sten-train "$RECIPE" --out run -q --threads 1 --set products="$PRODUCTS" "${sparse[@]}"
  train run --resume "${sparse[@]}" >/dev/null
  files run | diff - wanted >&2 ||
    fail 'the run resumed after a kill differs from the uninterrupted run'
done
enough_kills

# Channels and classes that do not match the data are rejected.
if sten-train "$RECIPE" --out no --set model.channels=3 >out 2>err; then fail 'model.channels=3 is accepted for images with 1 channel'; fi
grep -q 'channel' err || fail "the error does not mention channels: $(cat err)"
if sten-train "$RECIPE" --out no --set model.classes=5 >out 2>err; then fail 'model.classes=5 is accepted for labels of 10 classes'; fi
grep -q '5 classes' err || fail "the error does not mention 5 classes: $(cat err)"
