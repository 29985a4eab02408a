# SPDX-License-Identifier: Apache-2.0
# sten-run --precision: bfloat16 gives the results of float32 within its precision, for float32 and
# BF16 files.
. "$(dirname "$0")/_lib.sh"
cd "$T"
models="$STEN_SOURCE/recipes/models" data=data.json
# The test split is the last hundredth of the text.
sed -e "s#\"\(data\|models\)/#\"$STEN_SOURCE/recipes/\1/#" \
  -e 's/"train": 0.9,/"train": 0.985,/; s/"validation": 0.05/"validation": 0.005/' \
  "$STEN_SOURCE/recipes/shakespeare-bert-dense.json" >$data

# The shipped BERT, on its data.
expect_exit 0 sten-run "$models/shakespeare-bert" --data "$data" --precision bf16 --json \
  --against "$models/shakespeare-bert" --max-difference 1 --min-agreement 0.98 --max-loss 1.405
expect_out '"precision": "bf16"'
expect_exit 0 sten-run "$models/shakespeare-bert" --data "$data" --explain --json \
  --precision '*.query=float32' --precision bf16
expect_out '"precision": "float32"'
expect_out '"layout": "interleaved"'
expect_exit 0 sten-run "$models/shakespeare-bert" --fill 'To be, or n[MASK]t to be' --precision bf16
expect_out '  11  o'

# Files of BF16 run in either precision.
python3 "$STEN_SOURCE/tests/cli/_bf16.py" "$models/shakespeare-bert/model.safetensors" bf16.safetensors
for precision in float32 bf16; do
  expect_exit 0 sten-run bf16.safetensors --data "$data" --config "$models/shakespeare-bert/config.json" \
    --precision "$precision" --against "$models/shakespeare-bert" --min-agreement 0.97
done

# Unknown precisions and patterns that match nothing are rejected.
expect_exit 2 sten-run "$models/shakespeare-bert" --data "$data" --precision int8
expect_err "--precision: unknown precision 'int8' (expected one of bf16"
expect_exit 2 sten-run "$models/shakespeare-bert" --data "$data" --precision 'nothing=bf16'
expect_err "--precision 'nothing' matches none of the"
expect_err 'nodes of'
