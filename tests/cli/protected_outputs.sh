# SPDX-License-Identifier: Apache-2.0
# --force replaces only the result of an earlier run. The test runs several levels deep in a
# directory of its own, because a failure would delete files.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
. "$(dirname "$0")/_sharded.sh"

here=$T/1/2/3/4
mkdir -p "$here"
cd "$here"
[ "$(pwd -P)" = "$(realpath "$T")/1/2/3/4" ] || fail "the working directory is $PWD"
export HOME=$here/home
mkdir -p home big other/run/.git
make_sharded "$T/in"
cp -r "$T/in" big/in
cp -r "$T/in" M
mkdir -p M/sub M/.git/objects M/.cache
mkfifo M/pipe
for f in big/notes other/run/notes other/run/.git/HEAD home/letter M/.git/HEAD M/.cache/x; do
  echo mine >"$f"
done

# Every file with type, mode, link target, size, modification time and inode, to detect any change.
state() { (cd "$T" && find in 1 -printf '%p %y %m %l %s %T@ %i\n' | sort); }
# refused TEXT COMMAND...: exit code 2, a one-line error with TEXT, and no file changed.
# refused1 expects exit code 1 instead.
refused() { refused_with 2 "$@"; }
refused1() { refused_with 1 "$@"; }
refused_with() {
  state >"$T/before"
  expect_exit "$1" "${@:3}"
  expect_one_line_err
  expect_err "$2"
  state >"$T/after"
  diff "$T/before" "$T/after" >&2 || fail "'${*:3}' was rejected but changed files"
}

prune() { sten-prune "$@" --sparsity 0.5; }
convert() { sten-convert "$@" --to csr; }
for run in prune convert; do
  for flags in '' -f '-f --dry-run'; do
    # The output is the input, contains it or lies in it.
    refused 'the output contains the input' $run big/in -o big $flags
    for out in . .. ../. ../../3 M/.. "$PWD" "$T/1/"; do
      refused 'the output contains the input' $run M -o "$out" $flags
    done
    for out in M M/ M/. M/sub/.. ../4/M; do refused 'is the input' $run M -o "$out" $flags; done
    refused 'lies in the input directory' $run M -o M/new $flags
    refused 'is the input' $run "$MODEL" -o "$MODEL" $flags
    # The working directory, its parents, a home directory and the root, with an input elsewhere.
    refused 'the working directory is never replaced' $run "$T/in" -o . $flags
    refused 'the working directory is never replaced' $run "$T/in" -o ../4/M/.. $flags
    held 76 refused 'a parent of the working directory is never replaced' $run "$T/in" -o .. $flags
    refused 'a parent of the working directory is never replaced' $run "$T/in" -o "$T/1" $flags
    refused 'a home directory is never replaced' $run "$T/in" -o home $flags
    refused 'the output contains the input' $run "$T/in" -o / $flags
  done
  # Directories with files that no run wrote, even if they look like a checkpoint.
  for flags in -f '-f --dry-run'; do
    refused "or they changed since: '.git', 'notes'" $run "$T/in" -o other/run $flags
    held 77 refused 'or they changed since: ' $run "$T/in" -o M $flags
    refused 'or they changed since: ' $run "$T/in" -o big $flags
  done
done

# An input that ends in . or .. is named after the directory that it resolves to, and two inputs may
# not have the same name.
expect_exit 0 prune M/sub/.. big/in/extra/.. --out-dir res -q
[ "$(ls res)" = 'M
in' ] || fail "expected results M and in, got $(ls res)"
mkdir -p a/mb b
cp -r "$T/in" a/ma
cp -r "$T/in"/* a/mb
for model in a/ma a/mb; do
  (cd $model && prune ../mb . --out-dir "../../res-${model##*/}" -q >"$T/out" 2>"$T/err") ||
    [ $model = a/mb ] || fail 'pruning the inputs ../mb and . failed'
done
[ "$(ls res-ma)" = 'ma
mb' ] || fail "expected results ma and mb, got $(ls res-ma)"
(
  cd a/mb
  refused "would both be written as 'mb'" prune ../mb . --out-dir ../../res2
)
refused 'and inputs are never written' prune a/ma a/mb --out-dir a -f
mkdir -p files/out
cp "$MODEL" files/x.safetensors
cp "$MODEL" files/out/y.safetensors
refused 'is the input' prune files/x.safetensors files/out/y.safetensors --out-dir files/out -f

# Outputs are neither inputs nor the same file, and only one of them goes to standard output.
cp "$MODEL" in.safetensors
cp in.safetensors m.safetensors
expect_exit 0 prune in.safetensors -o p.safetensors --mask-out masks.safetensors -q
held 78 refused 'the same file' prune in.safetensors -o x --mask-out ./x
refused 'the same file' prune in.safetensors -o x --report x.json --mask-out M/../x.json
refused 'is the input' prune in.safetensors -o x --mask-out in.safetensors -f
refused 'is the input' prune in.safetensors -o x --report x.json --mask-out ./in.safetensors -f
refused 'is the input --mask' sten-prune in.safetensors -o masks.safetensors --mask masks.safetensors -f
refused 'is the input --mask' sten-prune in.safetensors -o x --mask masks.safetensors --mask-out masks.safetensors -f
refused 'would lie in -o' prune M -o out --report out/report.json
refused 'would lie in -o' prune M -o out --mask-out out/masks.safetensors
refused 'both want standard output' prune in.safetensors -o - --mask-out -
refused 'both want standard output' prune in.safetensors -o x --mask-out - --json
refused 'both want standard output' prune in.safetensors -o x --mask-out /dev/stdout --json
refused 'is the input --against' sten-energy in.safetensors --sweep --plot m.safetensors --against m.safetensors -f

# An output that cannot be written is rejected before any work, also in a dry run.
for dry in '' --dry-run; do
  held 80 refused1 "directory '$(pwd -P)/nodir'" prune M -o nodir/x $dry
  refused1 "nodir/x: directory 'nodir'" prune in.safetensors -o nodir/x $dry
  refused1 "nodir/m: directory 'nodir'" prune in.safetensors -o x --mask-out nodir/m $dry
  refused 'masks.safetensors: exists' prune in.safetensors -o x --mask-out masks.safetensors $dry
  refused 'cannot be written to a stream' prune M -o - $dry
  refused 'a .npy file takes one dense tensor' prune in.safetensors -o x.npy $dry
  refused 'a .npy file takes one dense tensor' convert in.safetensors -o x.npy $dry
  refused 'a .npy file takes one dense tensor' prune in.safetensors -o x.npy --scope global $dry
done

# Pruning in stages rejects it before the first training.
echo x >there
stages() {
  sten-prune "$@" --schedule linear:from=0,to=0.5,stages=2 --finetune 'touch trained; cp -r {in} {out}'
}
for dry in '' --dry-run; do
  refused 'the same file' stages in.safetensors -o S --state S $dry
  refused 'would lie in -o' stages M -o S --state S/state $dry
  refused 'there: exists' stages in.safetensors -o there --state S $dry
  refused 'there: exists' stages in.safetensors -o x --mask-out there --state S $dry
  refused 'the same file' stages in.safetensors -o x --mask-out x --state S $dry
  refused1 "directory 'nodir'" stages in.safetensors -o nodir/x --state S $dry
  refused 'a .npy file takes one dense tensor' stages in.safetensors -o x.npy --state S $dry
  refused 'not replaced' stages "$T/in" -o other/run --state S -f $dry
  # No output may replace the run's files in the state directory, which may not lie in the input.
  for place in run.json curve.svg stage-001 stage-001/mask.safetensors; do
    refused 'where a run keeps its own files' stages in.safetensors -o S/$place --state S $dry
    refused 'where a run keeps its own files' stages in.safetensors -o x --mask-out S/$place --state ./S $dry
  done
  refused "lies in the input 'M'" stages M -o x --state M $dry
  refused "lies in the input 'M'" stages M -o x --state M/sub $dry
  refused1 "directory '$(pwd -P)/there'" stages in.safetensors -o x --state there $dry
  refused1 "directory '$(pwd -P)/there'" stages in.safetensors -o x --state there/S $dry
done
mkdir old
echo mine >old/curve.svg
for dry in '' --dry-run; do
  held 92 refused "old: the directory has 'curve.svg', which no run wrote" stages in.safetensors -o x --state old $dry
done
expect_exit 0 stages in.safetensors -o staged.safetensors --state S -q
refused 'S: contains a run;' stages in.safetensors -o x --state S --dry-run
expect_exit 0 stages in.safetensors -o S/new.safetensors --report S/report.json --state S --resume -q
refused 'where a run keeps its own files' stages in.safetensors -o x --report S/run.json --state S --resume -f

# With several inputs, too, no result may be a file that the run reads, even through a link. A dry
# run does not need the directories that the run would create.
mkdir links scores masked
cp in.safetensors scores
cp masks.safetensors masked/in.safetensors
echo '*=magnitude:sparsity=0.5' >rules
ln -s ../rules links/in.safetensors
refused 'is the input --rules' sten-prune in.safetensors m.safetensors --out-dir links --rules rules -f
refused 'is the input --scores' prune in.safetensors m.safetensors --out-dir scores --method movement --scores scores/in.safetensors -f
refused 'is the input --mask' sten-prune in.safetensors --out-dir masked --mask masked/in.safetensors -f
state >"$T/before"
expect_exit 0 prune in.safetensors M --out-dir many/new --dry-run
state | diff "$T/before" - || fail 'a dry run changed files'
refused1 "directory '$(pwd -P)/there'" prune in.safetensors M --out-dir there/new --dry-run

# A dangling symbolic link as output stands for its target, which the run creates.
ln -s later one
ln -s ./later two
refused 'are the same file' prune in.safetensors -o one --mask-out two -f
expect_exit 0 prune M -o one -q
[ -L one ] && [ -e later/config.json ] || fail 'the target of the link was not written'
expect_exit 0 prune M -o one -q -f

# --force replaces an earlier result even after it was moved. The model and its masks are written
# together.
expect_exit 0 prune M -o out -q
mv out moved
expect_exit 0 prune "$T/in" -o moved -f -q --mask-out new-masks.safetensors
[ "$(find . -name '.*.sten-*')" = '' ] || fail "left behind: $(find . -name '.*.sten-*')"
