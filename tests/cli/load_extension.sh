# SPDX-License-Identifier: Apache-2.0
# --load makes the layouts and sparsifiers of a user's shared library available in all programs.
# Invalid libraries are rejected.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
extensions=$STEN_BIN/../tests/extend/bin

cd "$T"
cp "$extensions/extension.so" bands.so
cp "$extensions/taken_name.so" .
# The matrix w:
# 1 2 0
# 0 3 4
safetensors in.safetensors "{$(entry w.weight F32 2,3 0 24)}" "$F1$F2$F0$F0$F3$F4"

# The help of every program lists the loaded layouts and sparsifiers besides the built-in ones.
for program in $PROGRAMS; do
  expect_exit 0 $program --help --load bands.so
  expect_out 'Added here: layouts banded:k=1; sparsifiers band:k=1, row-share:of=0.5'
  expect_exit 0 $program --help
  ! grep -q banded "$T/out" ||
    fail "$program --help lists the layout of a library that is not loaded"
done
expect_exit 0 sten-convert --load bands.so --help-all
tr -s ' \n' ' ' <"$T/out" | grep -q 'Target layout: dense, masked, [a-z, ]*, banded or auto' ||
  fail 'the help of --to lacks the loaded layout'

# --load can stand before or after the options that need it.
expect_exit 0 sten-convert --load bands.so in.safetensors -o banded.safetensors --to banded:k=1
expect_exit 0 sten-convert in.safetensors -o after.safetensors --to banded:k=1 --load=bands.so
cmp banded.safetensors after.safetensors || fail 'the order of options changes the result'
header banded.safetensors | grep -qF '{\"layout\":\"banded:k=1\",\"shape\":[2,3],\"dtype\":\"F32\"}' ||
  fail 'the header does not describe the banded layout'
expect_exit 0 sten-energy banded.safetensors --load bands.so --against in.safetensors --min-energy 1
expect_out 'banded 1 24 B'
expect_exit 0 sten-convert banded.safetensors --load bands.so -o dense.safetensors --to dense
data in.safetensors >wanted
data dense.safetensors | cmp - wanted ||
  fail 'the tensor changed in a round trip through the banded layout'
expect_exit 0 sten-prune in.safetensors -o pruned.safetensors --rule '*=row-share:of=1' --to banded:k=1 --load bands.so
expect_exit 0 sten-convert pruned.safetensors --load bands.so -o dense.safetensors --to dense --force
data dense.safetensors >got
printf '%b' "$F0$F2$F0$F0$F0$F4" | cmp - got || fail 'row-share pruned the wrong values'
expect_exit 0 sten-bench convert --shape 16x24 --layouts banded:k=2 --repeats 1 --load bands.so
expect_out 'banded:k=2'

# sten-train stores a weight in the loaded layout.
sed "s|data/digits.csv|$STEN_SOURCE/recipes/data/digits.csv|" "$STEN_SOURCE/recipes/digits-mlp-from-scratch.json" >recipe.json
train='sten-train recipe.json --threads 1 --set steps=4 --set evaluation=null --set checkpoints=null --set
  sparsity=[{"target":"layers.1.weight","sparsifier":"band:k=8","layout":"masked","save":"banded:k=8"}]'
expect_exit 0 $train --out trained --load bands.so
header trained/model*.safetensors | grep -qF 'banded:k=8' ||
  fail 'the weight is not stored in the banded layout'
expect_exit 2 $train --out none
expect_err "unknown sparsifier 'band'"

# Every rank loads the library.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
if [ -e "$STEN_BIN/../lib/libsten_mpi.so" ] && mpirun -q -n 2 true 2>/dev/null; then
  expect_exit 0 mpirun -q -n 2 $train --out of2 --load bands.so
  header of2/model*.safetensors | grep -qF 'banded:k=8' ||
    fail 'a run of two ranks does not store the weight in the banded layout'
  expect_exit 2 mpirun -q -n 1 $train --out none --load bands.so : -n 1 $train --out none --load ./bands.so
  expect_err 'ranks differ in --load: bands.so on rank 0, ./bands.so on rank 1'
  expect_exit 1 mpirun -q -n 2 $train --out none --load none.so
  expect_one_line_err
  [ ! -e none ] || fail 'training started without the library'
else
  echo 'load_extension: ranks are not tested: built without MPI, or mpirun does not work'
fi

# Without --load the layout of the file is unknown: reading a file never loads a library.
expect_exit 1 sten-energy banded.safetensors
expect_one_line_err
expect_err "unknown layout 'banded' (a layout of an extension needs --load EXT.so or a program that registers 'banded'"
# --load as the value of another option, or after --, is not an option.
expect_exit 1 sten-energy in.safetensors --against --load
expect_err '--load: No such file'
expect_exit 1 sten-energy -- --load bands.so
expect_out '2 inputs'

# rejected CODE TEXT LIBRARY...: every program rejects the libraries in one line and writes no
# output.
rejected() {
  local code=$1 text=$2 libraries=() program library
  for library in "${@:3}"; do libraries+=(--load "$library"); done
  for program in $PROGRAMS; do
    expect_exit "$code" $program "${libraries[@]}" --help
    expect_one_line_err
    expect_err "$program: $text"
    [ ! -s "$T/out" ] || fail "$program prints to standard output"
  done
  expect_exit "$code" sten-convert in.safetensors -o none.safetensors --to bitmask "${libraries[@]}"
  [ ! -e none.safetensors ] || fail 'the rejected run left an output'
}
held 135 rejected 1 'none.so: No such file or directory' none.so
held 135 rejected 1 '.: not a shared library' .
mkfifo pipe.so
held 135 rejected 1 'pipe.so: not a shared library' pipe.so
: >empty.so
held 135 rejected 1 'empty.so: not a shared library' empty.so
held 135 rejected 1 'in.safetensors: not a shared library' in.safetensors
head -c 40 bands.so >header.so
held 135 rejected 1 'header.so: not a shared library' header.so

# A library that is truncated anywhere after the header.
size=$(stat -c %s bands.so)
for share in 1 10 40 70 99; do
  head -c $((size * share / 100)) bands.so >cut.so
  held 136 rejected 1 'cut.so: the shared library is truncated' cut.so
done
cp bands.so other.so
printf '\xf3' | dd of=other.so bs=1 seek=18 conv=notrunc 2>/dev/null
held 136 rejected 1 'other.so: the shared library is for another machine' other.so

# A library that was not compiled against libsten, and one that was compiled against a different
# build.
cp -L "$(ldd "$STEN_BIN/sten-convert" | awk '/libstdc[+][+]|libc[+][+]/ { print $3; exit }')" foreign.so
held 137 rejected 1 'foreign.so: not an extension of sten (no source includes libsten/core/registry/extension.h)' foreign.so
id=$(sed -n 's/^#define STEN_BUILD_ID "\(.*\)"/\1/p' "$STEN_BIN/../include/libsten/core/base/build_id.h")
for other in "0.0.9${id#?????}" "${id% *} 0123456789abcdef"; do
  LC_ALL=C sed "s/$id/$other/" bands.so >old.so
  held 138 rejected 1 "old.so: built for another libsten: expected \"$id " old.so
  expect_err "got \"$other "
  expect_err '(rebuild the extension)'
done

# Names that the program or another library has already registered.
held 139 rejected 1 "taken_name.so: the sparsifier 'magnitude' is already registered" taken_name.so
held 139 rejected 1 './bands.so: already loaded' bands.so ./bands.so
cp bands.so copy.so
held 139 rejected 1 "copy.so: the layout 'banded' is already registered" bands.so copy.so
PATH=$extensions:$PATH expect_exit 1 "$extensions/sten-convert" --load bands.so --help
expect_err "bands.so: the layout 'banded' is already registered"
LC_ALL=C sed 's/_ZN4sten8Registry/_ZN4sten8Regestry/g' bands.so >symbols.so
held 139 rejected 1 'symbols.so: undefined symbol: _ZN4sten8Regestry' symbols.so

# --load with an empty value, and an output that would overwrite the library.
expect_exit 2 sten-convert in.safetensors --load '' -o none.safetensors --to bitmask
expect_one_line_err
expect_err '--load has an empty value'
expect_exit 2 sten-convert in.safetensors --load bands.so -o bands.so --to bitmask --force
expect_one_line_err
