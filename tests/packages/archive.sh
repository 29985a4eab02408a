#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks the archive of a release in bare Debian 12 and 13, without the packages of the bundled
# libraries, in a folder with a blank in its name, and runs the first commands of README.
#   tests/packages/archive.sh DIST
. "$(dirname "${BASH_SOURCE[0]}")/_root.sh"
dist=$(realpath "${1:?usage: tests/packages/archive.sh DIST}")
archive=$(echo "$dist"/sten-*-linux-*.tar.xz)
name=$(basename "$archive" .tar.xz)
version=${name#sten-} version=${version%%-*}

# No binary needs a glibc newer than that of Debian 12.
mkdir "$work/unpacked"
tar -xf "$archive" -C "$work/unpacked"
newest=$(find "$work/unpacked" -type f \( -path '*/bin/*' -o -name '*.so*' \) -exec objdump -T {} + |
  grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1)
[[ $(printf '%s\n' "$newest" GLIBC_2.36 | sort -V | tail -n 1) == GLIBC_2.36 ]] || fail "expected at most GLIBC_2.36, got $newest"

for suite in bookworm trixie; do
  new_root $suite
  mkdir -p "$root/root/some folder"
  cp -a "$work/unpacked/$name" "$root/root/some folder/"
  root_path="/root/some folder/$name/bin:/usr/bin:/bin"
  first_commands "$version"
  # All libraries except glibc come from the archive.
  others=$(in_root sh -c 'for f in "/root/some folder"/*/bin/sten*; do ldd "$f"; done' |
    grep -E '=> /' | grep -v '/some folder/' | grep -vE '/lib(c|m)\.so|/libdl|/libpthread|/librt' || true)
  [[ -z $others ]] || fail "$suite: the programs load libraries of the system: $others"
done
echo "the archive works"
