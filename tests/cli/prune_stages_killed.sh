# SPDX-License-Identifier: Apache-2.0
# A staged run that is killed at any moment and resumed writes the bytes of an uninterrupted run.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_trainer.sh"
. "$(dirname "$0")/_kill.sh"
cd "$T"
: "${STEN_CRASHES:=8}"
sed -i '1s/^/sleep 0.05\n/' train.sh
stages() {
  exec sten-prune "$MODEL" -o "$1" --schedule iterative:from=0.1,to=0.5,step=0.2 --finetune "$TRAIN" --state "$2" -q "${@:3}"
}
at_work() { [ -e state/run.json ] && [ ! -e out.safetensors ]; }
watch stages out.safetensors state
mv out.safetensors whole.safetensors
for i in $(seq "$STEN_CRASHES"); do
  rm -rf state out.safetensors
  kill_at $i "$STEN_CRASHES" stages out.safetensors state
  done=$(ls -d state/stage-* 2>/dev/null | wc -l)
  if [ ! -e out.safetensors ]; then (stages out.safetensors state --resume) >/dev/null; fi
  cmp whole.safetensors out.safetensors || fail "the run that was killed after $done stages and resumed differs from the uninterrupted one"
  [ -z "$(ls -A state | grep -v -e '^stage-...$' -e '^run.json$' -e '^curve.svg$')" ] || fail "unexpected files in the state directory: $(ls -A state)"
  echo "killed after $done of 4 stages: the same bytes"
done
enough_kills
