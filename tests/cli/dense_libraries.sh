# SPDX-License-Identifier: Apache-2.0
# The library of dense products is the fastest, the recorded or the requested one; the built-in loop
# is never used silently.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_recipe.sh"
cd "$T"
sed -i '/"products"/d' "$RECIPE" # this test chooses the library
mkdir without without/onednn without/openblas without/both
touch without/onednn/libdnnl.so.{1..9} without/openblas/libopenblas.so.0 # empty: cannot be loaded
cp without/onednn/* without/openblas/* without/both
without() { LD_LIBRARY_PATH=$T/without/$1 "${@:2}"; }
by() { expect_err "sten-train: this process multiplies dense matrices by $1"; }
model() { echo "$1/model.sten.safetensors"; }

# Without both libraries the built-in loop gives one warning, or an error with --strict; neither if
# the recipe names it.
slow='dense products: neither oneDNN nor OpenBLAS is there'
expect_exit 0 without both sten-train "$RECIPE" --out slow -v
by 'own loop'
[ "$(grep -cF "sten-train: warning: $slow" err)" = 1 ] ||
  fail 'expected exactly one warning about the built-in loop'
expect_exit 3 without both sten-train "$RECIPE" --out strict --strict
expect_one_line_err
expect_err "sten-train: strict: $slow"
[ ! -e strict ] || fail 'a rejected run left its output directory'
expect_exit 3 without both sten-train "$RECIPE" --dry-run --strict
expect_exit 0 without both sten-train "$RECIPE" --out named --set products=own --strict -v
by 'own loop'
grep -qF warning err && fail 'a warning is printed although the recipe names the built-in loop'
cmp "$(model slow)" "$(model named)" || fail 'two runs with the built-in loop differ'
expect_exit 1 without both sten-train "$RECIPE" --out x --set products=openblas
expect_one_line_err
expect_err '/products: cannot load openblas'
[ ! -e x ] || fail 'a run without its library left its output directory'
expect_exit 2 sten-train "$RECIPE" --out x --set products=openblass
expect_err "did you mean 'openblas'?"

# A resumed run uses the library that it was started with, whatever is available now.
cut() { # cut RUN: removes the last checkpoint, as if RUN had been interrupted after step 150
  rm -r "$1/checkpoints/step-000160"
}
cut slow
expect_exit 0 sten-train "$RECIPE" --out slow --resume -v
by 'own loop'
cmp "$(model slow)" "$(model named)" || fail 'the resumed run differs from the uninterrupted one'
for other in onednn openblas; do
  expect_exit 0 without $other sten-train "$RECIPE" --out other.$other -v
  library=$(sed -n 's/.*dense matrices by \([A-Za-z]*\).*/\L\1/p' err)
  [ "$library" != own ] || continue # this machine has only one library
  [ "$library" != $other ] || fail "$other is used although it cannot be loaded"
  cut other.$other
  expect_exit 0 sten-train "$RECIPE" --out other.$other --resume -v
  [ "$(sed -n 's/.*dense matrices by \([A-Za-z]*\).*/\L\1/p' err)" = "$library" ] ||
    fail "the resumed run does not use $library"
  grep -qF 'results will differ slightly' err &&
    fail 'a warning is printed although the library is the same'
  expect_exit 0 sten-train "$RECIPE" --out $library --set products=$library
  cmp "$(model other.$other)" "$(model $library)" ||
    fail "the run resumed with $library differs from the uninterrupted one"
  # If that library cannot be loaded any more, a warning is printed.
  cut other.$other
  expect_exit 0 without $library sten-train "$RECIPE" --out other.$other --resume
  expect_err 'results will differ slightly'
done

# device_products has no effect on the CPU: one warning, or an error with --strict.
rounds='/device_products: tf32 needs a device (the CPU multiplies in float32)'
expect_exit 0 sten-train "$RECIPE" --out float32 --set products=own
expect_exit 0 sten-train "$RECIPE" --out rounded --set products=own --set device_products=tf32
[ "$(grep -cF "sten-train: warning: $rounds" err)" = 1 ] ||
  fail 'expected exactly one warning about device_products'
cmp "$(model float32)" "$(model rounded)" || fail 'device_products changes the result on the CPU'
for run in '--out x' --dry-run; do
  expect_exit 3 sten-train "$RECIPE" $run --set device_products=tf32 --strict
  expect_one_line_err
  expect_err "sten-train: strict: $rounds"
done
[ ! -e x ] || fail 'a rejected run left its output directory'
expect_exit 2 sten-train "$RECIPE" --out x --set device_products=bfloat
expect_err "did you mean 'bfloat16'?"

# Pruning in stages prints the library, too.
sten-train "$RECIPE" --out dense --set sparsity=null -q >/dev/null
expect_exit 0 sten-prune dense/model.safetensors -o out.safetensors --state stages -v \
  --schedule linear:from=0,to=0.5,stages=1 --recipe "$RECIPE" --set sparsity=null --set products=own
expect_err 'sten-prune: this process multiplies dense matrices by own loop'
