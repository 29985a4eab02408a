# SPDX-License-Identifier: Apache-2.0
# Recipes that cannot start or finish fail before any work, also with --dry-run.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_recipe.sh"
cd "$T"
refused() { # CODE TEXT FLAG...
  for how in "--dry-run" "--out run"; do
    expect_exit "$1" sten-train "$RECIPE" -q --set sparsity.0.schedule=null --set sparsity.0.save=masked $how "${@:3}"
    expect_one_line_err
    expect_err "$2"
    [ ! -e run ] || fail "'${*:3}' left a directory"
  done
}
refused 1 "'layers.0.weight': dims=2.1 is beyond the axes of shape [48, 64]" --set sparsity.0.save=csr:dims=2.1
# ell is accepted. The trial values of the check must differ: equal values would be kept in a few
# rows, which ell cannot store.
for layout in save layout; do
  expect_exit 0 sten-train "$RECIPE" --dry-run --set sparsity.0.schedule=null --set "sparsity.0.$layout=ell"
done
expect_exit 0 train ell --set sparsity.0.schedule=null --set sparsity.0.save=ell --set steps=20
rm -r ell
refused 1 "'layers.0.weight': dims=0.3 is beyond the axes" --set sparsity.0.layout=csr:dims=0.3
refused 1 "'layers.0.weight': dims=2.1 is beyond the axes" --set sparsity.0.sparsifier=nm:n=2,m=4,dims=2.1
refused 2 "/sparsity/0/sparsifier: axis must be 0 or 1, got 3" --set sparsity.0.sparsifier=nmg:n=1,m=4,g=4,axis=3

# Formats are checked against the shapes of values in training and evaluation.
format() { echo "formats=[{\"of\":\"$1\",\"target\":\"$2\",\"inline\":\"$3\",\"temporary\":\"$3\"}]"; }
refused 1 "/formats/0/target: 'loss': a tensor of rank 0" --set "$(format intermediate '*' nm:n=2,m=4)"
# A setting that only the end of a run needs is also checked at the start.
refused 2 '/evaluation/keep_best: the validation split is empty (see /data/validation)' --set data.validation=0.0001

# Case 90: configurations that need more memory than available.
bert() { # LAYERS HIDDEN
  mkdir -p bert
  cp "$STEN_SOURCE/recipes/models/shakespeare-bert/vocab.json" bert
  head -c 20000 "$STEN_SOURCE/recipes/data/tinyshakespeare.txt" >text
  cat >bert/config.json <<EOT
{"vocab_size": 100, "hidden_size": $2, "num_hidden_layers": $1, "num_attention_heads": 1, "intermediate_size": 16,
 "max_position_embeddings": 64}
EOT
  cat >bert.json <<EOT
{"schema": 1, "model": {"kind": "bert", "config": "bert/config.json"},
 "data": {"kind": "masked-text", "text": "text", "vocabulary": "bert/vocab.json", "window": 32, "train": 0.8, "validation": 0.1},
 "sparsity": [{"target": "*.dense.weight", "sparsifier": "magnitude:sparsity=0.5"}],
 "steps": 2, "batch": 4}
EOT
}
for hidden in 1000000 4611686018427387904; do
  bert 2 $hidden
  for how in "--dry-run" "--out run"; do
    expect_exit 1 sten-train bert.json -q $how
    expect_one_line_err
    expect_err 'bert/config.json: '
    held 90 expect_err 'parameters in training: '
    [ ! -e run ] || fail 'a directory was left'
  done
done
expect_exit 1 sten-train "$RECIPE" --dry-run --set 'model.sizes=[64, 4000000000, 4000000000, 10]' --set sparsity=null
expect_err 'model.sizes: 1.6e+19 parameters in training:'
# The memory limit of the process is respected.
layers=1000
# Sanitized programs cannot start within this limit, and take ten times as long for each layer.
if (ulimit -v 4000000 && sten-train --version >/dev/null 2>&1); then
  layers=10000
  bert 2 10000
  expect_exit 1 bash -c 'ulimit -v 4000000; exec sten-train bert.json -q --dry-run'
  expect_err 'GB of memory needed, 4.' # the limit minus the memory of the program
fi
# Ten thousand layers are planned in seconds.
bert $layers 4
expect_exit 0 timeout 250 sten-train bert.json --dry-run -q --json
expect_out '"all": 2'
# A dry run allocates no memory for weights, which would take 430 MB here. Sanitized programs take
# 300 MB at startup.
bert 100 512
expect_exit 0 sten-train bert.json --dry-run
expect_out 'memory: about '
peak=$(sed -n 's/.*peak memory \([0-9.]*\) MB.*/\1/p' err)
[ -n "$peak" ] && [ "${peak%.*}" -lt 400 ] ||
  fail "expected a peak memory below 400 MB: $(tail -1 err)"
