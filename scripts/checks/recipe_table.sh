#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# recipes/README.md lists every recipe, and its table gives the number of lines by which each method
# differs from the dense recipe.
set -eu
cd "$(dirname "$0")/../../recipes"
bad=0
for method in one-shot iterative layer-wise from-scratch nmg; do
  row="| $method |"
  for model in digits-mlp shakespeare-bert cifar-wrn-10-1; do
    [ -e "$model-$method.json" ] || { row="$row |" && continue; }
    lines=$(diff "$model-dense.json" "$model-$method.json" | grep -c '^>')
    row="$row $lines |"
  done
  grep -qxF "$row" README.md || { echo "recipes/README.md lacks '$row'" && bad=1; }
done
for recipe in *-*.json; do
  grep -qF "| \`${recipe%.json}\` |" README.md || { echo "recipes/README.md lacks $recipe" && bad=1; }
done
exit $bad
