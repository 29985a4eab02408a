#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prunes the digits MLP by four procedures at four sparsities, for five seeds, and prints the mean accuracy
# on held-out rows as a Markdown table. Needs sten-prune in PATH, and python3 with numpy ($PYTHON).
#
#   recipes/finetune/digits_table.sh [DIR]      DIR keeps all models, and what is there is not made again
# In the environment, for a smaller table: SPARSITIES, some of 50 80 90 95; SEEDS; EPOCHS of a stage.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-$(mktemp -d)}
python=${PYTHON:-python3}
train="$python $here/digits_numpy.py"
read -ra sparsities <<<"${SPARSITIES:-50 80 90 95}"
read -ra seeds <<<"${SEEDS:-0 1 2 3 4}"
epochs=${EPOCHS:-20}
mkdir -p "$dir" && cd "$dir"

run() { # run OUT ARGUMENT...: sten-prune with the trainer, unless OUT is there
  local out=$1
  shift
  [ -e "$out" ] || sten-prune "dense-$seed.safetensors" -o "$out" -q "$@" >>log.txt
}
# Every stage of the iterative run is a pruned and trained model: which one has that sparsity.
stage_of() { case $1 in 50) echo 5 ;; 80) echo 8 ;; 90) echo 9 ;; 95) echo 10 ;; esac }
tune() { echo "$train tune {in} {out} --metrics {metrics} --seed $seed --epochs $1"; }

for seed in "${seeds[@]}"; do
  [ -e "dense-$seed.safetensors" ] || $train dense "dense-$seed.safetensors" --seed "$seed"
  run "iterative-95-$seed.safetensors" --schedule iterative:from=0.1,to=0.95,step=0.1 \
    --finetune "$(tune $epochs)" --state "iterative-$seed"
  for sparsity in "${sparsities[@]}"; do
    stage=$(stage_of "$sparsity")
    [ "$sparsity" = 95 ] || cp "iterative-$seed/stage-$(printf %03d $stage)/model.safetensors" "iterative-$sparsity-$seed.safetensors"
    run "oneshot-$sparsity-$seed.safetensors" --sparsity 0.$sparsity
    # As many epochs as the iterative run has had by then.
    run "tuned-$sparsity-$seed.safetensors" --schedule linear:from=0,to=0.$sparsity,stages=1 \
      --finetune "$(tune $((epochs * stage)))" --state "tuned-$sparsity-$seed"
    run "layer-wise-$sparsity-$seed.safetensors" --sparsity 0.$sparsity --schedule layer-wise --tolerance 0.1 \
      --finetune "$(tune $epochs)" --state "layer-wise-$sparsity-$seed"
  done
done

mean() { $train test "$@" | awk '{ sum += $1; squares += $1 * $1; sparsity += $2 } END {
  m = sum / NR; v = squares / NR - m * m; printf "%.1f ± %.1f", m, sqrt(NR > 1 && v > 0 ? v * NR / (NR - 1) : 0)
  if (ENVIRON["REACHED"]) printf " (%.1f %%)", sparsity / NR }'; }
echo "Accuracy on held-out rows in percent, mean and standard deviation of ${#seeds[@]} seeds; dense: $(mean dense-*.safetensors)"
echo
echo "| sparsity | one shot | one shot, then training | iterative | layer-wise (sparsity reached) |"
echo "|---|---|---|---|---|"
for sparsity in "${sparsities[@]}"; do
  printf '| %s %% |' "$sparsity"
  for method in oneshot tuned iterative; do
    printf ' %s |' "$(mean $method-$sparsity-?.safetensors)"
  done
  echo " $(REACHED=1 mean layer-wise-$sparsity-?.safetensors) |"
done
