# SPDX-License-Identifier: Apache-2.0
# Damaged or changed manifests and state are rejected: one line that names the file, exit code 1 or
# 2, no crash, and the run is not continued.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_recipe.sh"
. "$(dirname "$0")/_trainer.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"
nest() { printf '%*s' "$1" '' | tr ' ' '['; printf '%*s' "$1" '' | tr ' ' ']'; }
deep() { printf '%s' "$1"; nest 70000; printf '%s' "$2"; }
refused() { # PROGRAM...: fails with one error line, without a crash
  status=0
  "$@" >"$T/out" 2>"$T/err" || status=$?
  case $status in 1 | 2) ;; *) fail "'$*' ended with $status" ;; esac
  expect_one_line_err
  if grep -q 'json.exception' "$T/err"; then fail "stderr has an exception of the JSON library"; fi
}

# Case 81: JSON that is nested too deeply, in every place where JSON is read.
deep '{"model": ' '}' >deep.json
refused sten-train deep.json --out deep
held 81 expect_err 'deep.json: nested too deeply'
refused sten-train "$RECIPE" --out deep --set "model=$(nest 70)"
expect_err 'nested too deeply'
deep '' '' >vocab.json
mkdir deep-index
deep '{"weight_map": ' '}' >deep-index/model.safetensors.index.json
refused sten-energy deep-index
expect_err 'nested too deeply'
provenance=$(nest 70000)
safetensors deep.safetensors "{\"__metadata__\":{\"sten.provenance\":\"$provenance\"},$(entry a.weight F32 2,2 0 16)}" "$F1$F2$F3$F4"
expect_exit 0 sten-prune deep.safetensors -o shallow.safetensors --sparsity 0.5
expect_err 'nested too deeply: replaced by new metadata'

# A run is not resumed if any of its files was changed. One file is changed at a time.
train good --set checkpoints.keep=1 >/dev/null
changed() { # FILE TEXT COMMAND, which changes $f
  rm -rf run
  cp -r good run
  f=run/$1
  eval "$3"
  refused train run --set checkpoints.keep=1 --resume
  expect_err "$2"
}
step=checkpoints/step-000160
changed recipe.json 'recipe.json: nested too deeply' 'deep "{\"model\": " "}" >$f'
changed recipe.json 'recipe.json: not JSON' 'echo "{" >$f'
changed recipe.json "contains files that the run did not write: 'recipe.json'" 'echo >>$f'
changed recipe.json 'recipe.json: is missing' 'rm $f'
changed run.json 'run.json: nested too deeply' 'deep "{\"files\": " "}" >$f'
changed run.json 'run.json: changed since' 'sed -i s/sten-train/sten-prune/ $f'
for change in '1s/.*/damaged/' '2s/"loss":[^,]*/"loss":[]/' '3s/.*/{}/' '3s/"step":[0-9]*/"step":1.5/' 4d; do
  changed metrics.jsonl 'metrics.jsonl: changed since the file was written' "sed -i '$change' \$f"
done
changed metrics.jsonl 'metrics.jsonl: changed since the file was written' 'rm $f'
# Case 82: files of a checkpoint that were removed, added or changed.
for change in 's/"step": 160/"step": 1.5/' 's/"step": 160/"step": 150/' 's/"count": [0-9]*/"count": -1/' 's/"threads": 1/"threads": "x"/'; do
  changed $step/state.json 'state.json: changed since the file was written' "sed -i '$change' \$f"
done
changed $step/state.json 'state.json: nested too deeply' 'deep "{\"step\": " "}" >$f'
held 82 changed $step/masks.safetensors 'masks.safetensors: is missing' 'rm $f'
changed $step/masks.safetensors 'masks.safetensors: changed since' 'cp '"$T"'/shallow.safetensors $f'
changed $step/state.safetensors 'state.safetensors: changed since' 'cp run/'$step'/masks.safetensors $f'
changed $step/more.safetensors "contains files that the run did not write: '$step/more.safetensors'" 'cp run/'$step'/masks.safetensors $f'

# The same for a staged run.
stages() { sten-prune "$MODEL" -o out.safetensors --include 'bert.encoder.layer.0.*weight' --exclude '*Norm*' -q -f \
  --schedule linear:from=0,to=0.5,stages=2 --finetune "$TRAIN" --state "$@"; }
stages whole >/dev/null
new_state='; another --state begins a new run' again='; --resume does it again once'
stage_changed() { # FILE TEXT ADVICE COMMAND
  rm -rf state
  cp -r whole state
  f=state/$1
  eval "$4"
  refused stages state --resume
  expect_err "$2"
  expect_err "$3"
}
stage_changed run.json 'run.json: nested too deeply' "$new_state" 'deep "{\"run\": " "}" >$f'
stage_changed run.json 'run.json: changed since' "$new_state" 'sed -i s/input/output/ $f'
stage_changed run.json "run.json: file not found beside 'stage-00" "$new_state" 'rm $f'
stage_changed stage-001/stage.json 'stage.json: nested too deeply' "$again 'stage-001'" 'deep "{\"loss\": " "}" >$f'
stage_changed stage-001/stage.json 'stage.json: changed since' "$again 'stage-001'" 'sed -i "s/\"rounds\": 1/\"rounds\": 1.5/" $f'
stage_changed stage-002/mask.safetensors 'mask.safetensors: changed since' "$again 'stage-002'" 'cp '"$T"'/shallow.safetensors $f'
stage_changed stage-002/model.safetensors 'model.safetensors: is missing' "$again 'stage-002'" 'rm $f'

# Case 84: patterns and commands that are not valid UTF-8 are used unchanged, and recorded with
# escapes such as \xff.
byte=$(printf '\377')
refused sten-prune "$MODEL" -o x.safetensors --sparsity 0.5 --include "$byte"
held 84 expect_err '\xff'
expect_exit 0 sten-prune shallow.safetensors -o x.safetensors --sparsity 0.5 --include "[!$byte]*"
grep -qaF xff x.safetensors || fail "the provenance lacks the pattern"
expect_exit 0 sten-prune shallow.safetensors -o y.safetensors --sparsity 0.5 --rule "[!$byte]*=magnitude:sparsity=0.5"
cp shallow.safetensors "in$byte"
for more in "" --resume; do
  expect_exit 0 sten-prune shallow.safetensors -o z.safetensors -f --schedule linear:from=0,to=0.5,stages=1 --state bytes \
    --finetune "cp in$byte {out} # {in}" $more
done
# Recipe values that are not valid UTF-8 are rejected; the recipe's file name is recorded with
# escapes.
for how in --dry-run "--out bytes-run"; do
  refused sten-train "$RECIPE" $how --set "name=$byte"
  expect_err "value is not valid UTF-8"
  [ ! -e bytes-run ] || fail "the rejected run left a directory"
done
cp "$RECIPE" "bytes$byte.json"
expect_exit 0 sten-train "bytes$byte.json" --out bytes-run -q --set steps=80
grep -qF '"name": "bytes\\xff"' bytes-run/recipe.json || fail 'recipe.json lacks the escaped name'
