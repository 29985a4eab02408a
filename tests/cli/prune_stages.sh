# SPDX-License-Identifier: Apache-2.0
# Pruning in stages with a fine-tuning command: the commands that run, the saved state, and the
# result.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_trainer.sh"
cd "$T"
stages() { sten-prune "$MODEL" --threads 2 --include 'bert.encoder.layer.[01].*weight' --exclude '*Norm*' "$@"; }

# Each stage prunes the output of the previous stage.
expect_exit 0 stages -o out.safetensors --schedule iterative:from=0.1,to=0.5,step=0.2 --finetune "$TRAIN" --state run
expect_out "after 3 of 3 stages"
expect_out "loss on the input: 1"
[ "$(tr '\n' ' ' <log)" = "0 1 2 3 " ] || fail "expected stages 0 1 2 3, got $(tr '\n' ' ' <log)"
for k in 1 2 3; do
  [ "$(ls run/stage-00$k)" = "mask.safetensors
model.safetensors
stage.json" ] || fail "stage $k: expected mask, model and stage.json, got $(ls run/stage-00$k)"
done
grep -q '<svg' run/curve.svg || fail "run/curve.svg is missing or not an SVG file"
cmp -s run/stage-003/model.safetensors out.safetensors && fail "the output lacks provenance"

# The energy of a stage is relative to the input, not to the fine-tuned weights.
energy_of() {
  sten-energy "$1" --against "$MODEL" --include 'bert.encoder.layer.[01].*weight' --exclude '*Norm*' --summary 2>/dev/null |
    sed -n 's/^total.* % *\([0-9.]*\) .*/\1/p'
}
[ "$(awk '$1 == 3 { print $4 }' out)" = "$(energy_of out.safetensors)" ] || fail "expected energy $(energy_of out.safetensors) for stage 3, as from sten-energy"

# Equal runs write the same bytes. With --resume, --to may change without running stages again.
expect_exit 0 stages -o again.safetensors --schedule iterative:from=0.1,to=0.5,step=0.2 --finetune "$TRAIN" --state again
cmp out.safetensors again.safetensors || fail "two equal runs write different bytes"
expect_exit 0 stages -o small.safetensors --schedule iterative:from=0.1,to=0.5,step=0.2 --finetune "$TRAIN" --state run --resume --to bitmask
sten-convert small.safetensors -o dense.safetensors --to dense -q >/dev/null
expect_exit 0 sten-energy --diff out.safetensors dense.safetensors
[ "$(wc -l <log)" = 8 ] || fail "finished stages ran again"

# The error names the stage that failed, and --resume continues with that stage.
export STOP_AT=2
expect_exit 1 stages -q -o late.safetensors --schedule iterative:from=0.1,to=0.5,step=0.2 --finetune "$TRAIN" --state late
unset STOP_AT
expect_one_line_err
expect_err "stage 2: the command ended with exit code 9"
[ ! -e late.safetensors ] || fail "a run that failed left an output"
expect_exit 2 stages -q -o late.safetensors --schedule iterative:from=0.1,to=0.5,step=0.2 --finetune "$TRAIN" --state late
expect_err "contains a run; --resume continues, another --state begins a new run"
expect_exit 0 stages -o late.safetensors --schedule iterative:from=0.1,to=0.5,step=0.2 --finetune "$TRAIN" --state late --resume
cmp out.safetensors late.safetensors || fail "the resumed run differs from the uninterrupted one"

# A run that failed in its first stage can be started again, also with different options.
first() { stages -o first.safetensors --schedule iterative:from=0.1,to=0.5,step=0.2 --state first "$@"; }
for more in "" --resume; do
  expect_exit 1 first --finetune 'false {in} {out}' $more
  expect_err "the command ended with exit code 1"
done
expect_exit 0 first --finetune "$TRAIN"
cmp out.safetensors first.safetensors || fail "the restarted run differs from the uninterrupted one"
expect_exit 1 stages -q -o x.safetensors --schedule iterative:from=0.1,to=0.5,step=0.2 --finetune 'false {in} {out}' --state again2
echo '{}' >again2/run.json
expect_exit 1 stages -q -o x.safetensors --schedule iterative:from=0.1,to=0.5,step=0.2 --finetune "$TRAIN" --state again2
expect_err "again2/run.json: not a manifest: missing checksum; another --state begins a new run"

# The state directory of a different run is rejected, and the error says how to continue.
expect_exit 2 stages -q -o x.safetensors --schedule iterative:from=0.1,to=0.4,step=0.1 --finetune "$TRAIN" --state run --resume
expect_err "contains a different run: sparsifier was 'magnitude:sparsity=0.5', now is 'magnitude:sparsity=0.4'; another --state begins a new run"
expect_exit 2 sten-prune out.safetensors -o x.safetensors --include 'bert.encoder.layer.[01].*weight' --exclude '*Norm*' --schedule iterative:from=0.1,to=0.5,step=0.2 --finetune "$TRAIN" --state run --resume
held 64 expect_err "contains a different run: input was"

# One structure per stage; the output can be stored in the layout of the last one.
expect_exit 0 stages -o nm.safetensors --schedule iterative --structure nm:n=3,m=4 --structure nm:n=2,m=4 --finetune "$TRAIN" --state nm --to nm
expect_out "nm:n=2,m=4   50.00 %"
expect_exit 0 stages -o nmg.safetensors --schedule iterative --structure nmg:n=2,m=4,g=4 --structure nmg:n=1,m=4,g=4 --finetune "$TRAIN" --state nmg --to nmg
expect_exit 0 stages -o global.safetensors --scope global --schedule cubic:from=0,to=0.5,stages=2 --finetune "$TRAIN" --state global
expect_out "after 2 of 2 stages"

# Layer-wise: each stage prunes one more tensor; the run stops if the loss does not recover.
export LOSS=1
expect_exit 0 stages -o layers.safetensors --sparsity 0.5 --schedule layerwise --finetune "$TRAIN" --state layers
unset LOSS
expect_out "after 12 of 12 stages"
[ "$(awk '$1 == 12 { print $5 }' out)" = "$(energy_of layers.safetensors)" ] || fail "expected energy $(energy_of layers.safetensors) for stage 12, as from sten-energy"
expect_exit 0 stages -o stuck.safetensors --sparsity 0.5 --schedule layer-wise --finetune "$TRAIN" --state stuck --patience 2
expect_out "after 1 of 12 stages"
expect_out "stopped at 'bert.encoder.layer.0.attention.output.dense.weight': no lower loss in 2 rounds"

# Other weight files beside the input are reported once and hidden from the command.
mkdir folder && cp "$MODEL" folder/model.safetensors && echo x >folder/pytorch_model.bin
expect_exit 0 sten-prune folder -o folder.out --include 'bert.encoder.layer.0.*key.weight' --state folder.run \
  --schedule linear:from=0.1,to=0.5,stages=2 --finetune 'test ! -e {in}/pytorch_model.bin && cp -r {in} {out}'
[ "$(grep -c 'left behind, with the weights of before: pytorch_model.bin' out)" = 1 ] || fail "expected exactly one line about pytorch_model.bin, which is left behind"
[ ! -e folder.out/pytorch_model.bin ] || fail "old weights were copied beside the pruned ones"
expect_exit 2 sten-prune folder -o folder.two --sparsity 0.5 --state x --keep-other-weights \
  --schedule linear:from=0.1,to=0.5,stages=2 --finetune 'cp -r {in} {out}'
expect_err '--schedule and --keep-other-weights exclude each other'

# --dry-run plans the stages without running them. Invalid combinations of options are rejected.
expect_exit 0 stages --dry-run --schedule linear:from=0,to=0.8,stages=4 --finetune "$TRAIN" --state none
expect_out "4 stages for 12 tensors; nothing was run"
expect_out "dry run: nothing was written"
[ ! -e none ] || fail "a dry run created the state directory"
# A dry run needs no state directory, since it saves no stages; a run needs one.
expect_exit 0 stages --dry-run --schedule linear:from=0,to=0.8,stages=4 --finetune "$TRAIN"
expect_out "4 stages for 12 tensors; nothing was run"
expect_exit 2 stages -q -o x.safetensors --schedule linear:from=0,to=0.8,stages=4 --finetune "$TRAIN"
expect_err "--schedule needs --state DIR"
refused() {
  expect_exit 2 stages -q -o x.safetensors --schedule iterative:from=0.1,to=0.5,step=0.2 --state x "${@:2}"
  expect_one_line_err
  expect_err "$1"
}
refused "needs --finetune"
expect_exit 2 stages -q -o x.safetensors --schedule gradual:from=0,to=1 --state x --finetune "$TRAIN"
expect_err "'gradual:from=0,to=1': unknown schedule 'gradual' (expected one of iterative, linear, cubic, exponential, layer-wise; example: cubic"
refused "missing {out} in the command" --finetune 'train {in}'
refused "unknown placeholder '{ot}', did you mean '{out}'?" --finetune 'train {in} {ot} {out}'
refused "contradicts --sparsity 0.6" --finetune "$TRAIN" --sparsity 0.6
expect_exit 2 stages -q -o x.safetensors --sparsity 0.5 --resume
expect_err "--resume belongs to --schedule"
expect_exit 2 stages -q -o out.safetensors --schedule iterative:from=0.1,to=0.5,step=0.2 --finetune "$TRAIN" --state x
expect_err "out.safetensors: exists (use --force to overwrite)"
[ ! -e x ] && [ ! -e x.safetensors ] || fail "a rejected run left an output or a state directory"

# Options that fit no tensor's shape are rejected before the command runs, and by --dry-run.
: >log
for more in --dry-run ""; do
  expect_exit 1 stages -q -o x.safetensors --schedule iterative:from=0.1,to=0.5,step=0.2 --finetune "$TRAIN" --state x --to csr:dims=2.1 $more
  expect_one_line_err
  expect_err "dims=2.1 is beyond the axes of shape [160, 160]"
  expect_exit 1 stages -q -o x.safetensors --schedule iterative --structure nm:n=3,m=4,dims=2.1 --structure nm:n=2,m=4 --finetune "$TRAIN" --state x $more
  expect_err "dims=2.1 is beyond the axes of shape [160, 160]"
  [ ! -e x ] || fail "a rejected run created its state directory"
done
[ ! -s log ] || fail "the command ran in spite of invalid options"

# The tolerance works for negative losses: within 10 % of -2 means at most -1.8.
layers() { expect_exit 0 stages -o "$1.safetensors" --sparsity 0.5 --schedule layerwise --finetune "$2" --state "$1" --patience 1 --rounds 9 --tolerance 0.1 --exclude '*[1]*'; }
tell() { echo "cp {in} {out}; if [ {stage} = 0 ]; then l=-2; else l=$1; fi; printf '{\"loss\": %s}' \$l >{metrics}"; }
layers near "$(tell -1.85)"
expect_out "after 6 of 6 stages"
layers far "$(tell -1.75)"
expect_out "after 1 of 6 stages"

# Losses that are NaN or infinite, as libraries write them: the run finishes and can be resumed.
for loss in NaN '"NaN"' Infinity -Infinity; do
  told="cp {in} {out}; printf '{\"loss\": %s, \"loss_before\": NaN}' '$loss' >{metrics}"
  expect_exit 0 stages -o nan.safetensors -f --schedule iterative:from=0.1,to=0.5,step=0.2 --finetune "$told" --state "nan$loss"
  expect_exit 0 stages -o nan2.safetensors -f --schedule iterative:from=0.1,to=0.5,step=0.2 --finetune "$told" --state "nan$loss" --resume
  cmp nan.safetensors nan2.safetensors
  grep -q "\"loss\": \"${loss//\"/}\"" "nan$loss/stage-001/stage.json" || fail "stage.json does not record the loss $loss"
done
layers sometimes "$(tell NaN)"
expect_out "after 1 of 6 stages"
expect_exit 1 stages -q -o never.safetensors --sparsity 0.5 --schedule layerwise --finetune "cp {in} {out}; echo '{\"loss\": NaN}' >{metrics}" --state never
expect_one_line_err
expect_err "the loss on the input is nan"
