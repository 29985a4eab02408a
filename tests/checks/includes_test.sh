#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/checks/includes.py accepts a tree that follows its declarations, and names violations.
set -eu
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/checks/includes.py
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
  python3 "$check" "$T" >"$T/out" 2>&1 || status=$?
  if [ "$status" != "$1" ] || [ "$(cat "$T/out")" != "$2" ]; then
    printf 'expected exit %s and:\n%s\ngot exit %s and:\n' "$1" "$2" "$status"
    cat "$T/out"
    exit 1
  fi
}

mkdir -p "$T/libsten"
cat >"$T/libsten/CMakeLists.txt" <<'ROOMS'
sten_room(core/base EARLY FORMERLY base)
sten_room(core/layout COLD USES core/base)
sten_room(files USES core)
sten_room(model/nn USES core/base)
ROOMS
file apps/sten_prune.cpp '"main.h"' '"libsten/files/npy.h"' '<CLI/CLI.hpp>'
file apps/main.h
file libsten/sten.h '"libsten/files/npy.h"'
file libsten/core/base/shape.h '<vector>'
file libsten/core/layout/nmg.h '"libsten/core/base/shape.h"' '"kernels/reference/nmg.h"'
file libsten/core/layout/nmg.cpp '"nmg.h"' '"../base/shape.h"' '<fmt/format.h>'
file libsten/files/npy.h '"libsten/core/layout/nmg.h"'
file libsten/files/absent/npy.cpp '"libsten/files/npy.h"'
file kernels/reference/nmg.h '"kernels/view.h"' '"../view.h"' '<cstddef>'
file kernels/view.h
expect 0 ''

# Undeclared rooms and uses.
file libsten/core/layout/nmg.h '<vector>' '"libsten/files/npy.h"'
file libsten/model/nn/bert.h '"libsten/core/base/shape.h"' '"libsten/core/layout/nmg.h"' '"libsten/sten.h"'
file kernels/view.h '"libsten/core/base/shape.h"'
file libsten/attic/old.h '"libsten/core/base/shape.h"'
expect 1 'kernels/view.h:1: kernels may not include core/base
libsten/attic/old.h:1: libsten/CMakeLists.txt declares no room attic
libsten/core/layout/nmg.h:2: core/layout may not include files
libsten/model/nn/bert.h:2: model/nn may not include core/layout
libsten/model/nn/bert.h:3: model/nn may not include libsten
units include each other: libsten/core/layout/nmg libsten/files/npy'
rm -r "$T/libsten/attic"

# Cyclic includes within a room; a room that uses a room below it.
file libsten/core/layout/nmg.h
file libsten/model/nn/bert.h '"libsten/core/base/shape.h"'
file kernels/view.h
file libsten/core/base/shape.cpp '"libsten/core/base/array.h"'
file libsten/core/base/array.h '"libsten/core/base/shape.h"'
expect 1 'units include each other: libsten/core/base/array libsten/core/base/shape'
file libsten/core/base/array.h
echo 'sten_room(report USES programs)' >>"$T/libsten/CMakeLists.txt"
expect 1 'libsten/CMakeLists.txt: report may only use rooms above it, but uses programs'
