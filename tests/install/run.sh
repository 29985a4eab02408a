#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a finished build, moves the prefix, builds the consumer against it and runs both.
#   tests/install/run.sh BUILD_DIR
set -euo pipefail
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
unset DESTDIR

# A file to be installed that has not been built is built during the installation.
rm "$build/apps/libsten-prune-main.a"

cmake --install "$build" --prefix "$T/first" >"$T/install.log" || { cat "$T/install.log"; exit 1; }
mv "$T/first" "$T/prefix" # programs and package must not remember where they were installed

# The consumer uses the compiler of the library, because two standard libraries may be incompatible.
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[^=]*=//p' "$build/CMakeCache.txt")
cmake -S "$here/consumer" -B "$T/consumer" -DCMAKE_PREFIX_PATH="$T/prefix" \
  -DEXTENSION="$here/../extend/extension.cpp" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
cmake --build "$T/consumer"

# Each header compiles alone, with the flags of the package and without the source tree.
export PKG_CONFIG_PATH=$(dirname "$(find "$T/prefix" -name sten.pc)")
flags=$(pkg-config --cflags sten)
while read -r header; do
  if [[ -f $here/../../$header ]]; then echo "$T/prefix/include/$header"; fi
done < <(cd "$T/prefix/include" && find * -name '*.h') >"$T/headers"
# Headers at former paths forward to the new ones.
echo "$T/prefix/include/libsten/dispatch/registry.h" >>"$T/headers"
grep -q 'libsten/sten.h$' "$T/headers" || { echo "libsten/sten.h is not installed"; exit 1; }
xargs -P "$(nproc)" -I HEADER "$compiler" -std=c++20 -Wall -Wextra -Werror -fsyntax-only $flags -include HEADER \
  -x c++ /dev/null <"$T/headers" >"$T/alone.log" 2>&1 || { head -n 40 "$T/alone.log"; exit 1; }
# Internal headers are not installed.
if grep -E '/(json_reader|checked_block|run_files)[.]h$|/(simd|report)/|/programs/' "$T/headers" |
  grep -v '/programs/tensors/tensor_programs[.]h$'; then
  echo "the headers above are internal, but installed"
  exit 1
fi
"$compiler" -std=c++20 "$here/consumer/main.cpp" -o "$T/by-pkg-config" $(pkg-config --cflags --libs sten)

expect() { # expect REGEX COMMAND...
  local wanted=$1 got
  shift
  got=$("$@")
  if ! [[ $got =~ ^$wanted$ ]]; then
    echo "$*: expected '$wanted', got '$got'"
    exit 1
  fi
}
expect "nmg:n=1,m=10,g=4 keeps 1 of 10" "$T/consumer/consumer"
expect "nmg:n=1,m=10,g=4 keeps 1 of 10" env LD_LIBRARY_PATH="$(pkg-config --variable=libdir sten)" "$T/by-pkg-config"
for program in sten sten-prune sten-convert sten-energy; do
  expect "$program [0-9]+(\.[0-9]+)+" "$T/prefix/bin/$program" --version
  for file in "man/man1/$program.1" "bash-completion/completions/$program" \
    "zsh/site-functions/_$program" "fish/vendor_completions.d/$program.fish"; do
    [[ -s $T/prefix/share/$file ]] || { echo "share/$file is not installed"; exit 1; }
  done
done

# The program of docs/library.md.
model=$(cd "$here/../../recipes/models/shakespeare-bert" && pwd)/model.safetensors
weight=bert.encoder.layer.0.attention.output.dense.weight
lines=("$weight: \[160, 160] F32, 102400 bytes" "nmg:n=1,m=10,g=4: 12800 bytes"
  "1280 outputs, those of the dense weight" "loss below 0.05" "nmg")
cd "$T"
expect "$(printf '%s\n' "${lines[@]}")" "$T/consumer/library" "$model" "$weight"
expect '.*"nmg:n=1,m=10,g=4".*' "$T/prefix/bin/sten-energy" small.safetensors -q --json

expect "sten-prune [0-9.]+" "$T/prefix/bin/sten" prune --version
for file in share/doc/sten/README.md share/doc/sten/LICENSE share/doc/sten/CHANGELOG.md share/doc/sten/SECURITY.md \
  share/doc/sten/docs/pruning.md share/sten/python/sten_load.py share/sten/python/sten_load_torch.py \
  share/sten/python/sten_tools/reader.py share/sten/schema.json; do
  [[ -s $T/prefix/$file ]] || { echo "$file is not installed"; exit 1; }
done

# The extension works in the consumer's programs and, with --load, in the installed ones.
"$T/consumer/my-prune" "$model" -o "$T/pruned" -q --rule '*.query.weight=row-share:of=0.3' >"$T/log"
"$T/consumer/my-convert" "$T/pruned" -o "$T/banded" -q --include '*.query.weight' --to banded:k=160 >"$T/log"
expect '.*"banded:k=160".*' "$T/consumer/my-energy" "$T/banded" -q --json
expect '.*"banded:k=160".*' "$T/prefix/bin/sten-energy" "$T/banded" -q --json --load "$T/consumer/extension.so"
"$compiler" -std=c++20 -fPIC -shared "$here/../extend/extension.cpp" -o "$T/by-flags.so" $(pkg-config --cflags sten)
expect '.*"banded:k=160".*' "$T/prefix/bin/sten-energy" "$T/banded" -q --json --load "$T/by-flags.so"

# The error names a CUDA plug-in that is of another release, not a library, or missing.
plugin=$(pkg-config --variable=libdir sten)/libsten_cuda.so
on_device() { CUDA_VISIBLE_DEVICES= "$T/prefix/bin/sten-energy" "$model" --device cuda 2>&1 || [[ $? = 1 ]]; }
echo 'extern "C" const char* sten_cuda_version() { return "0.0.1"; }' | "$compiler" -x c++ -fPIC -shared -o "$plugin" -
expect 'sten-energy: .*libsten_cuda.so: expected the CUDA kernels of sten [0-9.]+, got 0.0.1; use --device cpu' on_device
echo text >"$plugin"
expect 'sten-energy: .*libsten_cuda.so: file too short; use --device cpu' on_device
rm "$plugin"
expect 'sten-energy: .*CUDA support is not installed .*; use --device cpu' on_device
