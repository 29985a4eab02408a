#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of a release in a bare Debian 12, runs the first commands of README,
# compiles the consumer of tests/install, and removes the packages without leftovers.
#   tests/packages/debian.sh DIST
. "$(dirname "${BASH_SOURCE[0]}")/_root.sh"
dist=$(realpath "${1:?usage: tests/packages/debian.sh DIST}")

if command -v lintian >/dev/null; then
  lintian --fail-on error --allow-root --tag-display-limit 0 "$dist"/*.deb || fail "lintian found errors"
else
  echo "lintian is missing: the packages are not checked by it"
fi

new_debian() {
  new_root bookworm
  mkdir "$root/root/packages"
  cp "$dist"/*.deb "$root/root/packages"
  in_root apt-get update -qq
}
version=$(dpkg-deb -f "$dist"/sten_*.deb Version)
version=${version%-*}
install() { in_root apt-get install -qq -y --no-install-recommends "$@" >"$work/log" 2>&1 || { tail "$work/log"; fail "apt-get install $* failed"; }; }
deb() { echo "./packages/$(basename "$dist/$1"_*.deb)"; } # deb NAME: its file in $root
plugins=()
list() { (cd "$root" && find etc opt usr -not -type d | LC_ALL=C sort); }

new_debian
start=$SECONDS
install "$(deb libsten1)" "$(deb sten)"
expect '.*90.00 %.*' sten-prune model -o first --sparsity 0.9 --summary
echo "from nothing to the first pruned checkpoint in $((SECONDS - start)) s"

# The build tools of the consumer and all dependencies of the packages are installed first, so that the
# list of files afterwards shows leftovers of the packages only.
new_debian
depends=$(for deb in "$dist"/*.deb; do dpkg-deb -f "$deb" Depends; done | tr ',' '\n' | sed 's/|.*//; s/(.*//; s/ //g' | grep -v sten | sort -u)
install $depends g++ cmake make pkg-config man-db python3
list >"$work/before"

install "$(deb libsten1)" "$(deb sten)"
first_commands "$version"
expect '.*SH NAME.*sten.*prune.*' sh -c 'zcat /usr/share/man/man1/sten-prune.1.gz'
expect '.*Apache-2.0.*nlohmann.*' cat /usr/share/doc/sten/copyright
in_root test -f /usr/share/bash-completion/completions/sten

install "$(deb libsten-dev)"
mkdir "$root/root/tests"
cp -r "$source/tests/install/consumer" "$source/tests/extend" "$root/root/tests"
in_root sh -c 'cmake -S tests/consumer -B consumer -DEXTENSION=/root/tests/extend/extension.cpp && cmake --build consumer' \
  >"$work/log" 2>&1 || { tail "$work/log"; fail "the consumer cannot be built"; }
expect "nmg:n=1,m=10,g=4 keeps 1 of 10" consumer/consumer
expect '.*banded.*' sten-prune --load consumer/extension.so --help
in_root sh -c 'g++ -std=c++20 tests/consumer/main.cpp -o by-pkg-config $(pkg-config --cflags --libs sten)'
expect "nmg:n=1,m=10,g=4 keeps 1 of 10" ./by-pkg-config

for plugin in mpi cuda; do
  [[ $(compgen -G "$dist/sten-${plugin}_*.deb") ]] || continue
  install "$(deb sten-$plugin)"
  in_root test -f "/usr/lib/$(gcc -print-multiarch)/libsten_$plugin.so"
  plugins+=("sten-$plugin")
  first_commands "$version"
done

in_root apt-get purge -qq -y sten libsten1 libsten-dev "${plugins[@]}" >"$work/log" 2>&1 || { tail "$work/log"; fail "apt-get purge failed"; }
list >"$work/after"
left=$(comm -13 "$work/before" "$work/after" | grep -i sten || true)
[[ -z $left ]] || fail "left behind: $left"
echo "the Debian packages work"
