# SPDX-License-Identifier: Apache-2.0
# The scripts of recipes/finetune print their tables. A stand-in for Python leaves the weights
# unchanged and reports a lower loss each time. The test of docs/pruning.md runs the real
# digits_numpy.py.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
finetune=$STEN_SOURCE/recipes/finetune
safetensors "$T/dense" "{$(entry fc1.weight F32 2,4 0 32),$(entry fc2.weight F32 2,2 32 48)}" \
  "$F1$F2$F3$F4$F2$F3$F4$F1$F1$F2$F3$F4"
: >"$T/log"
cat >"$T/python" <<'EOT'
#!/bin/sh
here=$(dirname "$0")
script=$(basename "$1")
command=$2
shift 2
case $script.$command in
  digits_numpy.py.dense) exec cp "$here/dense" "$1" ;;
  digits_numpy.py.test) for model in "$@"; do [ -s "$model" ] && echo '90.00 50.00'; done && exit ;;
  bert_mlm_torch.py.test) [ -e "$1/vocab.json" ] && echo '1.250 61.5' && exit ;;
  *.tune) ;;
  *) exit 9 ;;
esac
cp -r "$1" "$2"
shift 2
while [ $# -gt 0 ]; do
  case $1 in
    --masks) [ -s "$2" ] || exit 8 ;;
    --metrics) echo "{\"loss\": $(($(wc -l <"$here/log") * -1))}" >"$2" ;;
    --rate | --epochs | --seed) ;;
    *) exit 7 ;;
  esac
  shift 2
done
echo >>"$here/log"
echo a warning >&2
EOT
chmod +x "$T/python"
export PYTHON=$T/python

SEEDS=1 expect_exit 0 bash "$finetune/digits_table.sh" "$T/digits"
expect_out 'of 1 seeds; dense: 90.0 ± 0.0'
for sparsity in 50 80 90 95; do
  expect_out "| $sparsity % | 90.0 ± 0.0 | 90.0 ± 0.0 | 90.0 ± 0.0 | 90.0 ± 0.0 (50.0 %) |"
done
# An iterative model is a copy of one stage and has the sparsity of that stage.
for name in 50=50.00 80=75.00 90=91.67; do
  expect_exit 0 sten-energy "$T/digits/iterative-${name%=*}-1.safetensors" --summary
  expect_out " ${name#*=} %"
done

expect_exit 0 bash "$finetune/bert_table.sh" "$T/bert"
[ "$(grep -c '^| .* | 1.250 | 61.5 % | [0-9.]* | [0-9.]* |$' "$T/out")" = 7 ] ||
  fail 'the table of BERT does not have 7 rows'
expect_out '| 50 %, layer-wise: '
