# A fine-tuning command in shell. After _lib.sh:
#   . "$(dirname "$0")/_trainer.sh"
# $TRAIN is for --finetune: it puts the byte 3f for 3e in the data of the weights, so that values
# change, what was 0 stays 0, and the same input gives the same output. Its loss falls with every
# run: 1 + 1 / runs of it. It ends with exit code 9 before stage $STOP_AT, if that is set.
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
