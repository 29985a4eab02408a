# SPDX-License-Identifier: Apache-2.0
# Limits of the machine: no space for a file, no writable directory, no memory.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

mkdir "$T/work" "$T/tmp"
cd "$T/work"
export TMPDIR=$T/tmp
refused() { # TEXT COMMAND...
  expect_exit 1 "${@:2}"
  expect_one_line_err
  expect_err "$1"
  [ ! -s "$T/out" ] || fail "'${*:2}' printed to standard output"
}

# The disk becomes full while an output file, the temporary copy of a pipe or standard output is
# written. A limit on the size of files stands for a full disk.
limited() { (ulimit -f 1000 && "$@"); }
piped() { cat "$MODEL" 2>/dev/null | sten-prune - -o new --sparsity 0.5; }
to_stdout() { sten-prune "$MODEL" -o - --sparsity 0.5 >"$T/stdout"; }
echo old >old
held 70 refused 'new: File too large' limited sten-prune "$MODEL" -o new --sparsity 0.5
refused 'old: File too large' limited sten-prune "$MODEL" -o old --sparsity 0.5 --force
refused 'new: File too large' limited sten-convert "$MODEL" -o new --to dense
refused 'sten-prune: masks: File too large' limited sten-prune "$MODEL" -o new --mask-out masks \
  --structure nmg:n=1,m=10,g=4 --to nmg
refused 'File too large' limited piped
refused 'standard output: temporary copy in' limited to_stdout
[ "$(cat old)" = old ] || fail 'the old output was changed'
[ "$(ls -A)" = old ] || fail "expected only the file old, got: $(ls -A)"
[ -z "$(ls -A "$T/tmp")" ] || fail "temporary files were left behind: $(ls -A "$T/tmp")"

# /proc/self: a directory that not even root can write to.
if [ -d /proc/self ]; then
  held 72 refused '/proc/self' sten-prune "$MODEL" -o /proc/self/new --sparsity 0.5
  refused '/proc/self' sten-prune "$MODEL" -o new --sparsity 0.5 --report /proc/self/new.json
  [ ! -e new ] || fail 'the output was written although its report cannot be'
fi
rm old

# 256 MB of weights in 32 tensors are pruned within two thirds of that memory, even on a slow disk.
# A limit that is too low for one tensor is an error. Sanitizers reserve more than any of these
# limits, so the checks are skipped with them.
entries=
for i in $(seq 0 31); do
  entries+=,$(entry l.$i.weight F32 1024,2048 $((i << 23)) $(((i + 1) << 23)))
done
safetensors in.safetensors "{${entries#,}}"
truncate -s $(($(data_offset in.safetensors) + (32 << 23))) in.safetensors # zeros, no disk space
within() { (ulimit -d "$1" && "${@:2}"); }
if within 180000 sten-prune --version >"$T/out" 2>&1; then
  for to in dense bitmask csr nm:n=2,m=4; do
    case $to in nm*) how="--to $to" ;; *) how="--sparsity 0.9 --to $to" ;; esac
    expect_exit 0 within 180000 sten-prune in.safetensors -o out $how --threads 2 --force
    peak=$(sed -n 's/.* s, peak memory \([0-9]*\).* MB$/\1/p' "$T/err")
    [ "$peak" -lt 200 ] || fail "--to $to: expected a peak memory below 200 MB, got $peak MB"
  done
  rm out
  for limit in 9000 20000; do
    held 73 refused "in.safetensors: 'l.0.weight': out of memory" within $limit sten-prune in.safetensors -o out --sparsity 0.9
    refused 'sten-prune: in.safetensors: ' within $limit sten-prune in.safetensors -o out --sparsity 0.9 --scope global
    expect_err 'out of memory'
    refused "in.safetensors: 'l.0.weight': out of memory" within $limit sten-energy in.safetensors --sweep
  done
else
  echo 'memory limits are left out: the program does not start within them'
fi
rm in.safetensors

# A dense library that would retry an allocation forever within the limit is not loaded.
if (ulimit -v 150000 && sten-train --version >/dev/null 2>&1); then
  for limit in 150000 200000; do
    expect_exit 1 bash -c "ulimit -v $limit; exec timeout -k 5 60 sten-train '$STEN_SOURCE/recipes/digits-mlp-dense.json' --out run \
      -q --threads 1 --set products=openblas"
    expect_one_line_err
    expect_err '/products: cannot load openblas'
    rm -rf run
  done
fi
[ -z "$(ls -A)" ] || fail "expected no files left behind, got: $(ls -A)"
