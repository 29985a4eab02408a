# SPDX-License-Identifier: Apache-2.0
# An output is written completely or not at all, and nothing is overwritten without --force.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

mkdir "$T/work"
cd "$T/work"
safetensors in.safetensors "{$(entry a.weight F32 2,2 0 16)}" "$F1$F2$F3$F4"
cp in.safetensors original
sten-prune in.safetensors -o wanted --sparsity 0.5 -q >/dev/null

prune() { sten-prune in.safetensors --sparsity 0.5 "$@"; }
refused() { # CODE TEXT COMMAND...
  expect_exit "$1" "${@:3}"
  expect_one_line_err
  expect_err "$2"
  [ ! -s "$T/out" ] || fail "'${*:3}' printed to standard output"
}

# An existing output is an error; --force replaces the file and keeps its permissions.
echo old >old.safetensors
chmod 640 old.safetensors
refused 2 'old.safetensors: exists (use --force to overwrite)' prune -o old.safetensors
refused 2 'old.safetensors: exists (use --force to overwrite)' \
  sten-convert in.safetensors -o old.safetensors --to csr
[ "$(cat old.safetensors)" = old ] || fail 'an output was changed without --force'
expect_exit 0 prune -o old.safetensors --force
cmp old.safetensors wanted || fail '--force did not replace the output'
[ "$(stat -c %a old.safetensors)" = 640 ] || fail '--force changed the permissions'
expect_exit 0 prune -o old.safetensors -f
# The permissions of a new output follow the umask.
(umask 027 && prune -o new.safetensors -q >/dev/null)
[ "$(stat -c %a new.safetensors)" = 640 ] ||
  fail 'the permissions of a new output do not follow the umask'
rm old.safetensors new.safetensors

# The input is never overwritten, even under another name.
ln in.safetensors hard.safetensors
ln -s in.safetensors soft.safetensors
mkdir sub
for out in in.safetensors ./in.safetensors sub/../in.safetensors hard.safetensors soft.safetensors \
  "$PWD/in.safetensors"; do
  for force in '' --force; do
    held 61 refused 2 "'$out': the output is the input 'in.safetensors', and inputs are never written" prune -o "$out" $force
  done
done
refused 2 'is the input' sten-prune soft.safetensors -o in.safetensors --sparsity 0.5 --force
refused 2 'is the input' sten-prune - -o in.safetensors --sparsity 0.5 --force <in.safetensors
refused 2 'in.safetensors: exists' sten-prune - -o in.safetensors --sparsity 0.5 <in.safetensors
cmp in.safetensors original || fail 'the input was changed'
# A symbolic link to another file is followed.
cp original other.safetensors
ln -sf other.safetensors soft.safetensors
expect_exit 0 prune -o soft.safetensors --force
[ -L soft.safetensors ] || fail 'the symbolic link was replaced'
cmp other.safetensors wanted || fail 'the symbolic link was not followed'
# Standard output redirected into the input is rejected too.
status=0
prune -o - --force >>in.safetensors 2>"$T/err" || status=$?
[ $status = 2 ] || fail "'>> INPUT' ended with $status, not 2"
expect_err 'standard output: the output is the input'
cmp in.safetensors original || fail "'>> INPUT' wrote into the input"
rm hard.safetensors soft.safetensors other.safetensors
rmdir sub

# An output that cannot be written is reported before any work.
refused 1 "missing/out.safetensors: directory 'missing': No such file or directory" \
  prune -o missing/out.safetensors
refused 2 "'.': the output contains the input 'in.safetensors'" prune -o .
mkdir sub
refused 1 'sub: expected a file, got a directory' prune -o sub
rmdir sub
refused 1 'in.safetensors/x: Not a directory' prune -o in.safetensors/x
ln -s loop loop
refused 1 'loop: ' prune -o loop
rm loop
if [ "$(id -u)" != 0 ]; then
  mkdir -m 555 readonly
  refused 1 'Permission denied' prune -o readonly/out.safetensors
  rmdir readonly
fi

# A full disk is an error.
if [ -w /dev/full ]; then
  refused 1 '/dev/full: No space left on device' prune -o /dev/full
  for command in 'prune -o -' 'prune --dry-run' 'sten-energy in.safetensors --json' \
    'sten-convert in.safetensors -o - --to csr'; do
    status=0
    $command >/dev/full 2>"$T/err" || status=$?
    [ $status = 1 ] || fail "'$command >/dev/full' ended with $status, not 1"
    expect_err 'standard output: No space left on device'
  done
fi
expect_exit 0 prune -o /dev/null

# If the output is a dangling symbolic link, its target is created.
ln -s target.safetensors link.safetensors
expect_exit 0 prune -o link.safetensors
[ -L link.safetensors ] || fail 'the dangling symbolic link was replaced'
cmp target.safetensors wanted || fail 'the target of the dangling symbolic link has different bytes'
rm link.safetensors target.safetensors

# A name with special characters of the shell, and a name of the maximum length.
for out in 'a b $(c) "d".safetensors' "$(repeat 255 x)"; do
  expect_exit 0 prune -o "$out"
  expect_exit 0 prune -o "$out" --force
  cmp "$out" wanted || fail "$out differs"
  rm "$out"
done

[ "$(ls -A | tr '\n' ' ')" = 'in.safetensors original wanted ' ] ||
  fail "unexpected files: $(ls -A)"
