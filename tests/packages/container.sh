#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the image of examples/ci/Containerfile with buildah from the packages of a release, with a bare
# Debian 12 in place of debian:bookworm-slim, and runs make, sten prune and sten energy in it.
#   tests/packages/container.sh DIST
. "$(dirname "${BASH_SOURCE[0]}")/_root.sh"
dist=$(realpath "${1:?usage: tests/packages/container.sh DIST}")
command -v buildah >/dev/null || fail "buildah is missing"
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
storage=$work/storage
buildah() { command buildah --root "$storage" --runroot "$work/run" "$@"; }

new_root bookworm
base=$(buildah from scratch)
buildah copy -q "$base" "$roots/bookworm" / >/dev/null
buildah commit -q "$base" docker.io/library/debian:bookworm-slim >/dev/null
mkdir -p "$work/context/packages"
cp "$dist"/*.deb "$work/context/packages"
buildah build --network host --pull-never -f "$source/examples/ci/Containerfile" -t sten "$work/context" >"$work/log" 2>&1 ||
  { tail "$work/log"; fail "the image cannot be built"; }

container=$(buildah from --pull-never localhost/sten)
cp -a "$model" "$work/context/model"
out=$(buildah run -v "$work/context:/work" "$container" -- sh -c \
  'make --version && sten prune model -o pruned --sparsity 0.9 --summary && sten energy pruned --against model --summary')
[[ $out == *"GNU Make"*"90.00 %"*"90.00 %"* ]] || fail "$out"
echo "the container works"
