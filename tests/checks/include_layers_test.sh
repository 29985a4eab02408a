#!/bin/sh
# scripts/checks/include_layers.sh accepts a tree with the order of layers and names violations.
set -eu
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/checks/include_layers.sh
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT

file() { # file PATH INCLUDE...
  mkdir -p "$T/${1%/*}"
  path=$1
  shift
  for include in "$@"; do echo "#include $include"; done >"$T/$path"
}
expect() { # expect EXIT-CODE TEXT
  status=0
  sh "$check" "$T" >"$T/out" 2>&1 || status=$?
  if [ "$status" != "$1" ] || [ "$(cat "$T/out")" != "$2" ]; then
    printf 'expected exit %s and:\n%s\ngot exit %s and:\n' "$1" "$2" "$status"
    cat "$T/out"
    exit 1
  fi
}

file apps/sten_prune.cpp '"main.h"' '"libsten/run/prune.h"' '<CLI/CLI.hpp>'
file apps/main.h
file libsten/sten.h '"libsten/run/prune.h"'
file libsten/layout/nmg.h '<vector>' '"libsten/tensor/layout.h"' '"kernels/reference/nmg.h"'
file libsten/layout/nmg.cpp '"nmg.h"' '"../tensor/dense.h"' '<fmt/format.h>'
file kernels/reference/nmg.h '"kernels/view.h"' '"../view.h"' '<cstddef>'
expect 0 ''

file libsten/layout/nmg.h '<vector>' '"libsten/io/safetensors.h"'
expect 1 'libsten/layout/nmg.h:2: libsten/layout may not include libsten/io'

file libsten/layout/nmg.h '"libsten/layout/csr.h"'
file libsten/layout/nmg.cpp '"../io/safetensors.h"' '  "libsten/sten.h"'
file libsten/io/safetensors.cpp '"libsten/run/prune.h"' '"apps/main.h"'
file kernels/reference/nmg.h '"libsten/base/shape.h"'
file libsten/attic/old.h '"libsten/base/shape.h"'
file libsten/nn/bert.h '"libsten/nn/block.h"' '"libsten/io/safetensors.h"' '"libsten/data/csv.h"'
expect 1 'kernels/reference/nmg.h:1: kernels may not include libsten/base
libsten/attic/old.h:1: libsten/attic is in no row of scripts/checks/include_layers.sh
libsten/io/safetensors.cpp:1: libsten/io may not include libsten/run
libsten/io/safetensors.cpp:2: libsten/io may not include apps
libsten/layout/nmg.cpp:1: libsten/layout may not include libsten/io
libsten/layout/nmg.cpp:2: libsten/layout may not include libsten
libsten/nn/bert.h:3: libsten/nn may not include libsten/data'
