# SPDX-License-Identifier: Apache-2.0
# The scripts of recipes/tables/ write their tables, here with short training runs.
. "$(dirname "$0")/_lib.sh"
command -v python3 >/dev/null || {
  echo 'skipped: python3 is missing'
  exit 77
}
tables=$STEN_SOURCE/recipes/tables
# row REGEX: a row of the table starts with REGEX.
row() { grep -q "^| $1 |" "$T/out" || fail "the table lacks the row '$1'"; }
rows() { [ "$(grep -c "^| .* %" "$T/out")" = "$1" ] || fail "expected $1 rows in the table"; }

export METHODS='dense layer-wise nmg' SEEDS='0 1' SET='--set batch=1'
expect_exit 0 bash "$tables/digits_mlp.sh" "$T/digits"
expect_out '| digits-mlp | sparsity | accuracy, mean of 2 seeds | lowest to highest |'
for method in 'dense | 0.0 %' 'layer-wise | 90.0 %' 'nmg | 75.0 %'; do row "$method"; done
rows 3
# Finished runs are not repeated.
mv "$T/out" "$T/wanted"
touch "$T/before"
expect_exit 0 bash "$tables/digits_mlp.sh" "$T/digits"
diff "$T/wanted" "$T/out" >&2 || fail 'the second call prints a different table'
[ -z "$(find "$T/digits" -newer "$T/before")" ] || fail 'the second call trained again'

head -c 20000 "$STEN_SOURCE/recipes/data/tinyshakespeare.txt" >"$T/text"
export FORMATS='75 1:4:4' SEEDS=0 STEPS=50
export SET="--set data.text=$T/text --set data.window=16 --set batch=1 --set evaluation=null --set checkpoints=null"
expect_exit 0 bash "$tables/shakespeare_bert.sh" "$T/bert" 2
[ ! -s "$T/err" ] || fail 'shakespeare_bert.sh printed to stderr'
expect_out 'after 50 more dense steps'
cell='[0-9.]*, [0-9.]* %'
row "75 % | $cell | $cell | $cell | $cell"
row "1:4:4 | $cell | $cell | $cell | $cell"
row "1:4, 1:4:4 | - | $cell"

# The first run, which is dense, is the teacher of the others.
export FORMATS='75 1-4-4' SEEDS='0 1' SET="$SET --set steps=50" SPARSE_SET='--set sparsity.0.schedule.begin=20'
expect_exit 0 bash "$tables/longer_bert.sh" "$T/longer" 2
[ ! -s "$T/err" ] || fail 'longer_bert.sh printed to stderr'
row "75 % | $cell | [+-][0-9.]*"
row "1:4:4 | [0-9.]* ± [0-9.]*, [0-9.]* % | [+-][0-9.]*"
[ "$(grep -o '<polyline' "$T/longer/curves.svg" | wc -l)" = 3 ] || fail 'expected 3 curves'

export FORMATS='75 1:4:4' METHODS='magnitude reconstruct admm'
expect_exit 0 bash "$tables/calibrated_bert.sh" "$T/calibrated"
[ ! -s "$T/err" ] || fail 'calibrated_bert.sh printed to stderr'
row "75 % | $cell | $cell | $cell"
row "\`1:4:4\` | [0-9.]* % | [0-9.]* % | [0-9.]* %"
row "methods, at 75 % | [0-9.-]* | -"

mkdir "$T/cifar"
python3 - "$T/cifar" <<'END'
import pathlib, random, sys

random.seed(1)
for name, count in (("data_batch_1.bin", 40), ("test_batch.bin", 10)):
    records = (bytes([i % 10]) + random.randbytes(3072) for i in range(count))
    (pathlib.Path(sys.argv[1]) / name).write_bytes(b"".join(records))
END
export FORMATS='50 2:4:4' METHODS='one-shot iterative layer-wise' SEEDS='0 1' STEPS=2 MORE=20
export SET='--set batch=2 --set logging.every=5'
expect_exit 0 bash "$tables/cifar_wrn.sh" "$T/cifar" "$T/wrn" 2
[ ! -s "$T/err" ] || fail 'cifar_wrn.sh printed to stderr'
expect_out 'after 2 steps'
cell='[0-9.]* ± [0-9.]* %'
row "50 % | $cell | $cell | $cell"
row "2:4:4 | $cell | $cell | $cell"
[ "$(grep -o '<polyline' "$T/wrn/curves.svg" | wc -l)" = 8 ] || fail 'expected 8 curves'
