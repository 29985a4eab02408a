# SPDX-License-Identifier: Apache-2.0
# sten-train prunes one layer after the other until the loss has recovered. The output, JSON and the
# model show which layers stay dense. A resumed run gives the same bytes.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_recipe.sh"
cd "$T"

# layers.0 recovers; layers.1 and layers.2 are pruned entirely, so that the loss cannot recover.
schedule='{"kind": "layer-wise", "until": "recovered", "tolerance": 0.3, "rounds": 2, "patience": 2'
entry() { echo "{\"target\": \"$1\", \"sparsifier\": \"magnitude:sparsity=$2\", \"save\": \"csr\", \"schedule\": $schedule, \"begin\": $3, \"end\": $4}}"; }
recovery="sparsity=[$(entry 'layers.0.weight' 0.5 30 60),$(entry 'layers.[12].weight' 1 60 160)]"
recovered() { train "$@" --set rate=null --set evaluation.keep_best=false --set "$recovery"; }

QUIET='' expect_exit 0 recovered whole
expect_out '/sparsity/0: all weights recovered to a validation loss of '
expect_out '/sparsity/1: 2 weights left dense, since the validation loss did not recover to 0.'
expect_out ': layers.1.weight, layers.2.weight'
grep -q '"left_dense": "layers.1.weight, layers.2.weight"' whole/summary.json || fail 'JSON does not name the dense layers'
grep -q '"left_dense": ""' whole/summary.json || fail 'JSON names a layer that recovered'
[ "$(grep -c '"rounds": 2' whole/summary.json)" = 2 ] || fail 'JSON lacks the number of rounds'
sten-energy whole/model.sten.safetensors >out
awk '$1 ~ /layers.0.weight/ { n += $0 ~ / 50.0[0-9] %/ } $1 ~ /layers.[12].weight/ { n += $0 ~ / 0.00 %/ } END { exit n != 3 }' out ||
  fail "expected only layers.0 to be sparse: $(cat out)"

# A run that stopped during the rounds of layers.2 is resumed.
cp -r whole run
rm -r run/checkpoints/step-000150 run/checkpoints/step-000160 run/model.sten.safetensors
grep -q '"before": "layers.2.weight"' run/checkpoints/step-000140/state.json || fail 'the checkpoint is not from the rounds of layers.2'
expect_exit 0 recovered run --resume
cmp run/model.sten.safetensors whole/model.sten.safetensors || fail 'the resumed run gives a different model'
for f in state.safetensors model.safetensors masks.safetensors; do
  cmp run/checkpoints/step-000160/$f whole/checkpoints/step-000160/$f || fail "the resumed run gives a different $f"
done
# A checkpoint that lacks the values from before pruning is rejected.
rm -r run/checkpoints/step-00015* run/checkpoints/step-000160
sed -i 's/"before": "layers.2.weight"/"before": "layers.2.weighs"/' run/checkpoints/step-000140/state.json
expect_exit 1 recovered run --resume
expect_one_line_err
expect_err 'step-000140/state.json'

expect_exit 0 sten-train "$RECIPE" --dry-run --set "$recovery"
expect_out "one more when the validation loss is at most 30 % above that before step 60; each has 2 rounds of 25 steps"
expect_exit 2 sten-train "$RECIPE" --dry-run --set "$recovery" --set data.validation=1e-9 --set evaluation.keep_best=false
expect_err '/sparsity/0/schedule/until: the validation split is empty (see /data/validation)'
