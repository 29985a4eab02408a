# SPDX-License-Identifier: Apache-2.0
# The library of dense products is the fastest, the recorded or the requested one; the built-in loop
# is never used silently.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_recipe.sh"
cd "$T"
sed -i '/"products"/d' "$RECIPE" # chosen here
mkdir without without/onednn without/openblas without/both
touch without/onednn/libdnnl.so.{1..9} without/openblas/libopenblas.so.0 # which cannot be loaded
cp without/onednn/* without/openblas/* without/both
without() { LD_LIBRARY_PATH=$T/without/$1 "${@:2}"; }
by() { expect_err "sten-train: this process multiplies dense matrices by $1"; }
model() { echo "$1/model.sten.safetensors"; }

# Without both it is said, once, and refused where that was asked for; not where the loop was named.
slow='dense products: neither oneDNN nor OpenBLAS is there'
expect_exit 0 without both sten-train "$RECIPE" --out slow -v
by 'own loop'
[ "$(grep -cF "sten-train: warning: $slow" err)" = 1 ] || fail 'the slow loop is not said once'
expect_exit 3 without both sten-train "$RECIPE" --out strict --strict
expect_one_line_err
expect_err "sten-train: strict: $slow"
[ ! -e strict ] || fail 'a refused run leaves something behind'
expect_exit 3 without both sten-train "$RECIPE" --dry-run --strict
expect_exit 0 without both sten-train "$RECIPE" --out named --set products=own --strict -v
by 'own loop'
grep -qF warning err && fail 'a loop that was named is warned about'
cmp "$(model slow)" "$(model named)" || fail 'the same loop gives other bytes'
expect_exit 1 without both sten-train "$RECIPE" --out x --set products=openblas
expect_one_line_err
expect_err '/products: cannot load openblas'
[ ! -e x ] || fail 'a run without its library leaves something behind'
expect_exit 2 sten-train "$RECIPE" --out x --set products=openblass
expect_err "did you mean 'openblas'?"

# What it began with it goes on with, whatever is there by then.
cut() { # cut RUN: as if it had been ended after step 150
  rm -r "$1/checkpoints/step-000160"
}
cut slow
expect_exit 0 sten-train "$RECIPE" --out slow --resume -v
by 'own loop'
cmp "$(model slow)" "$(model named)" || fail 'a run that goes on takes another loop'
for other in onednn openblas; do
  expect_exit 0 without $other sten-train "$RECIPE" --out other.$other -v
  library=$(sed -n 's/.*dense matrices by \([A-Za-z]*\).*/\L\1/p' err)
  [ "$library" != own ] || continue # this machine has no two
  [ "$library" != $other ] || fail "$other is there, which cannot be loaded"
  cut other.$other
  expect_exit 0 sten-train "$RECIPE" --out other.$other --resume -v
  [ "$(sed -n 's/.*dense matrices by \([A-Za-z]*\).*/\L\1/p' err)" = "$library" ] || fail "not by $library any more"
  grep -qF 'results will differ slightly' err && fail 'the same library is called another'
  expect_exit 0 sten-train "$RECIPE" --out $library --set products=$library
  cmp "$(model other.$other)" "$(model $library)" || fail "a run that goes on with $library gives other bytes"
  # And where that is gone, it is said.
  cut other.$other
  expect_exit 0 without $library sten-train "$RECIPE" --out other.$other --resume
  expect_err 'results will differ slightly'
done

# What is for a device is not followed here, which is said once, and refused where that was asked for.
rounds='/device_products: tf32 needs a device (the CPU multiplies in float32)'
expect_exit 0 sten-train "$RECIPE" --out float32 --set products=own
expect_exit 0 sten-train "$RECIPE" --out rounded --set products=own --set device_products=tf32
[ "$(grep -cF "sten-train: warning: $rounds" err)" = 1 ] || fail 'products of a device are not said once'
cmp "$(model float32)" "$(model rounded)" || fail 'the CPU rounds factors'
for run in '--out x' --dry-run; do
  expect_exit 3 sten-train "$RECIPE" $run --set device_products=tf32 --strict
  expect_one_line_err
  expect_err "sten-train: strict: $rounds"
done
[ ! -e x ] || fail 'a refused run leaves something behind'
expect_exit 2 sten-train "$RECIPE" --out x --set device_products=bfloat
expect_err "did you mean 'bfloat16'?"

# Pruning in stages says it, too.
sten-train "$RECIPE" --out dense --set sparsity=null -q >/dev/null
expect_exit 0 sten-prune dense/model.safetensors -o out.safetensors --state stages -v \
  --schedule linear:from=0,to=0.5,stages=1 --recipe "$RECIPE" --set sparsity=null --set products=own
expect_err 'sten-prune: this process multiplies dense matrices by own loop'
