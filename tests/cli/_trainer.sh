# SPDX-License-Identifier: Apache-2.0
# A fine-tuning command as a shell script. After _lib.sh:
#   . "$(dirname "$0")/_trainer.sh"
# $TRAIN is for --finetune. It replaces the byte 3e by 3f in the data of the weights: values change,
# zeros stay zero, and the same input gives the same output. The loss decreases with every stage.
# The command ends with exit code 9 before stage $STOP_AT, if that is set.
cat >"$T/train.sh" <<'EOF'
set -eu
in=$1 out=$2 metrics=$3 stage=$4
[ "${STOP_AT-}" != "$stage" ] || exit 9
echo "$stage" >>"$LOG"
LC_ALL=C sed -e 's/\x3e/\x3f/g' "$in" >"$out"
printf '{"loss": %s, "loss_before": 3}' "${LOSS:-1.$stage}" >"$metrics"
EOF
LOG=$T/log
: >"$LOG"
export LOG
TRAIN="bash $T/train.sh {in} {out} {metrics} {stage}"
