#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the wheels of a release in bare Debian 12 and 13 from the package index of this machine, without a
# compiler, runs the first commands of README and the module, and removes the package without leftovers.
#   tests/packages/wheel.sh DIST
. "$(dirname "${BASH_SOURCE[0]}")/_root.sh"
dist=$(realpath "${1:?usage: tests/packages/wheel.sh DIST}")

for pair in bookworm:cp311-cp311 trixie:cp312-abi3; do
  wheel=$(compgen -G "$dist/sten_tools-*-${pair#*:}-*.whl") || { echo "skipped: no wheel for ${pair#*:}"; continue; }
  version=${wheel#*sten_tools-} version=${version%%-*}
  new_root "${pair%:*}"
  cp "$wheel" "$root/root/"
  in_root sh -c 'apt-get update -qq && apt-get install -qq -y --no-install-recommends python3-venv' >"$work/log" 2>&1 ||
    { tail "$work/log"; fail "apt-get install python3-venv failed"; }
  use_package_index
  start=$SECONDS
  in_root sh -c 'python3 -m venv venv && venv/bin/pip install -q ./*.whl' >"$work/log" 2>&1 || { tail "$work/log"; fail "pip install failed"; }
  root_path=/root/venv/bin:/usr/bin:/bin
  expect "sten $version" sten --version
  expect '.*90.00 %.*' sten prune model -o first --sparsity 0.9 --summary
  echo "${pair%:*}: from nothing to the first pruned checkpoint in $((SECONDS - start)) s"
  first_commands "$version"
  expect '.*nmg:n=1,m=4,g=4.*oneDNN.*OpenBLAS.*' python -c 'import numpy as np, sten_tools as s
w = np.random.default_rng(0).standard_normal((768, 768), dtype="f4")
print(s.convert(s.prune(w, structure="1:4:4"), "1:4:4"), s.dense_libraries())'
  in_root pip uninstall -q -y sten-tools >"$work/log" 2>&1 || { tail "$work/log"; fail "pip uninstall failed"; }
  left=$(find "$root/root/venv" -iname '*sten*')
  [[ -z $left ]] || fail "left behind: $left"
done
echo "the wheels work"
