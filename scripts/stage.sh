#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the programs of a finished build into a folder that can be moved to another machine: bin/, share/,
# and libsten with its plug-ins and all third-party libraries that they link or load, except glibc.
#   scripts/stage.sh BUILD FOLDER
set -euo pipefail
[[ $# == 2 ]] || { echo "usage: scripts/stage.sh BUILD FOLDER" >&2; exit 2; }
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(realpath "$1") folder=$(realpath -m "$2")
libdir=$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[^=]*=//p' "$build/CMakeCache.txt")
for component in programs library mpi cuda; do
  cmake --install "$build" --strip --component $component --prefix "$folder" >/dev/null
done
# In two steps, so that an error of third_party.py ends the script.
files=$(python3 "$scripts/third_party.py" files "$build")
while read -r soname file; do
  install -m 644 "$file" "$folder/$libdir/$soname"
done <<<"$files"
python3 "$scripts/third_party.py" notices "$build" >"$folder/share/doc/sten/NOTICES.txt"
