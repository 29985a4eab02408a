#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks the Debian packages and the relocatable archive of a finished build: each has its files, and
# its programs prune, convert and measure. debian.sh and archive.sh install those of a release.
#   tests/packages/smoke.sh BUILD
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$1" && pwd)
skip() { echo "skipped: $1"; exit 77; }
fail() { echo "packages: $1"; exit 1; }
for command in cpack dpkg-deb dpkg-shlibdeps ninja python3; do
  command -v $command >/dev/null || skip "$command is missing"
done
[[ -e $build/build.ninja ]] || skip "not a build by Ninja"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:[^=]*=//p' "$build/CMakeCache.txt")
library=libsten${version%%.*}

first_commands() { # first_commands PREFIX [LIBRARIES]: runs PREFIX/bin without the variables of this shell
  local out=$work/out
  rm -rf "$out" && mkdir "$out"
  sten() { env -i LC_ALL=C.UTF-8 PATH="$prefix/bin:/usr/bin:/bin" ${libraries:+LD_LIBRARY_PATH=$libraries} sten "$@"; }
  local prefix=$1 libraries=${2-}
  [[ $(sten --version) == "sten $version" ]] || fail "expected sten $version, got $(sten --version)"
  sten prune "$source/recipes/models/shakespeare-bert" -o "$out/pruned" --sparsity 0.9 -q
  sten convert "$out/pruned" -o "$out/small" --to bitmask -q
  sten energy "$out/small" --against "$source/recipes/models/shakespeare-bert" --min-energy 0.25 --min-sparsity 0.89 -q
  [[ -f $prefix/share/man/man1/sten-prune.1 || -f $prefix/share/man/man1/sten-prune.1.gz ]] || fail "the manual page of sten-prune is missing"
}

(cd "$build" && cpack -G DEB -B "$work/packages" >"$work/log" 2>&1) || { cat "$work/log"; fail "cpack failed"; }
for package in sten "$library" libsten-dev; do
  files=("$work"/packages/"$package"_"$version"-1_*.deb)
  [[ -f ${files[0]} ]] || fail "no package $package: $(ls "$work/packages")"
  dpkg-deb -x "${files[0]}" "$work/debian"
done
for pair in openblas:libopenblas0 onednn:libdnnl; do
  grep -q "^${pair%:*}_INCLUDE_DIR:[^=]*=/" "$build/CMakeCache.txt" || continue
  dpkg-deb -f "$work"/packages/"$library"_*.deb Depends | grep -q "${pair#*:}" || fail "$library does not depend on ${pair#*:}*"
done
[[ -f $work/debian/usr/share/bash-completion/completions/sten && -f $work/debian/usr/include/libsten/sten.h ]] ||
  fail "the packages lack the bash completion or libsten/sten.h"
first_commands "$work/debian/usr" "$(dirname "$(find "$work/debian/usr" -name "libsten.so.${version%%.*}")")"

"$source/scripts/stage.sh" "$build" "$work/archive"
mv "$work/archive" "$work/other folder"
first_commands "$work/other folder"
[[ -s "$work/other folder/share/doc/sten/NOTICES.txt" ]] || fail "the archive has no notices"
for name in libfmt libre2 libstdc++; do
  [[ $(find "$work/other folder" -name "$name.so.*") ]] || fail "the archive has no $name"
done
