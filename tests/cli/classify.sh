# SPDX-License-Identifier: Apache-2.0
# BERT models that classify texts and tokens, with data from CSV and JSON Lines files.
. "$(dirname "$0")/_lib.sh"

cd "$T"
mkdir bert
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' a fine day in rome is 'not' so bad , paris to >bert/vocab.txt
echo '{"vocab_size": 17, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
  "intermediate_size": 32, "max_position_embeddings": 16, "initializer_range": 0.2}' >bert/config.json

# A text is labelled bad if it contains the word bad, whatever surrounds it.
{
  echo text,label
  for ((i = 0; i < 60; ++i)); do
    echo '"a fine day, in rome",good'
    echo 'not so bad a day,bad'
    echo 'a bad day in paris,bad'
    echo 'rome is fine,good'
  done
} >rows.csv
printf '{"schema": 1, "steps": 60, "batch": 16, "optimizer": {"kind": "adamw", "rate": 0.01},
  "model": {"kind": "bert", "config": "bert/config.json"},
  "data": {"kind": "labelled-text", "file": "rows.csv", "vocabulary": "bert", "window": 16}}' >texts.json
expect_exit 0 sten-train texts.json --out texts
expect_out 'accuracy 100.00 %'
expect_out 'macro F1 100.00 %'
grep -q '"BertForSequenceClassification"' texts/config.json ||
  fail 'config.json does not name the architecture BertForSequenceClassification'
grep -q '"0": "bad"' texts/config.json || fail 'config.json lacks the class name bad'
expect_exit 0 sten-run texts --min-accuracy 1
expect_out 'macro F1 100.00 %'
# Other data: labels are class names of the model or class indices.
printf '{"text": "paris is not fine", "label": "bad"}\n{"text": "rome", "label": 1}\n' >own.jsonl
expect_exit 0 sten-run texts --data own.jsonl
expect_out 'of 2 predictions'
head -1 own.jsonl >one.jsonl
expect_exit 0 sten-run texts --data one.jsonl
expect_out 'of 1 predictions'
printf 'text,label\nrome,neutral\n' >other.csv
expect_exit 1 sten-run texts --data other.csv
expect_one_line_err
expect_err "other.csv: line 2: unknown label 'neutral' (expected one of "

# Without a recipe the window has as many tokens as the model has positions. Calibration needs no labels.
mkdir plain
cp texts/config.json texts/model.safetensors bert/vocab.txt plain
expect_exit 0 sten-run plain --data rows.csv
expect_out 'accuracy 100.00 %'
expect_exit 0 sten-prune plain -o pruned --sparsity 0.5 --method wanda --calibrate rows.csv
for rows in '%s\nrome is fine\nnot so bad\nparis\n' '{"%s": "rome is fine"}\n{"text": "not so bad"}\n{"text": "paris"}\n'; do
  file=unlabelled.csv
  [ "${rows:0:1}" = % ] || file=unlabelled.jsonl
  printf "$rows" text >$file
  expect_exit 0 sten-prune plain -o pruned -f --sparsity 0.5 --method wanda --calibrate $file
  expect_out "rows of $file"
  expect_exit 2 sten-run plain --data $file
  expect_err "unknown column 'label'"
  expect_exit 2 sten-prune plain -o no --sparsity 0.5 --method wanda --allocate sensitivity --calibrate $file
  expect_err "unknown column 'label'"
done

# A masked language model has no weights for the classification head.
shipped=$STEN_SOURCE/recipes/models/shakespeare-bert
expect_exit 0 sten-train texts.json --dry-run --set model.weights="$MODEL" --set model.config="$shipped/config.json" \
  --set data.vocabulary="$shipped"
expect_err 'missing bert.pooler.dense.weight, bert.pooler.dense.bias, classifier.weight, classifier.bias (initialized'

# Token classification, with sparse weights.
for ((i = 0; i < 80; ++i)); do
  echo '{"tokens": ["in", "rome", "to", "day"], "labels": ["O", "B-PLACE", "O", "O"]}'
  echo '{"tokens": ["paris", "rome", "is", "fine"], "labels": ["B-PLACE", "I-PLACE", "O", "O"]}'
done >words.jsonl
sed 's/labelled-text/labelled-words/; s/rows.csv/words.jsonl/' texts.json >words.json
expect_exit 0 sten-train words.json --out words \
  --set 'sparsity=[{"target": "bert.encoder.*.weight", "sparsifier": "2:4", "calibration": {"method": "admm"}}]'
expect_out 'F1 of entities 100.00 %'
expect_exit 0 sten-run words
expect_out 'F1 of entities 100.00 %'

# Settings that do not fit the data or the model.
for change in data.file=bert/vocab.txt data.label_column=lable data.window=17 data.window=2 data.vocabulary=rows.csv \
  data.pair_column=other data.kind=labelled-words data.test_file=none.csv; do
  status=0
  sten-train texts.json --out no --set "$change" >"$T/out" 2>"$T/err" || status=$?
  [ "$status" = 1 ] || [ "$status" = 2 ] || fail "$change: expected exit code 1 or 2, got $status"
  expect_one_line_err
done
[ ! -e no ] || fail 'a rejected run left its output directory'
