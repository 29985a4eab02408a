# SPDX-License-Identifier: Apache-2.0
# The programs can be piped: "-" is standard input and output, and FIFOs work like files.
. "$(dirname "$0")/_lib.sh"

cd "$T"
ln -s "$MODEL" in.safetensors

# By files, then by pipes: the same bytes.
sten-prune in.safetensors -o pruned.safetensors --sparsity 0.9 >table 2>err
sten-convert pruned.safetensors -o bitmask.safetensors --to bitmask -q >/dev/null
sten-prune - -o - --sparsity 0.9 <in.safetensors 2>err | sten-convert - -o out --to bitmask -q >out2
cmp out bitmask.safetensors || fail 'the pipeline writes other bytes than the two steps'
# Between the programs only the checkpoint, the table goes to standard error.
grep -v ' s, peak memory' err | cmp - table || fail 'standard error is not the table'
grep -q 'peak memory' err || fail '-o - kept the cost to itself'
cat in.safetensors | sten-prune - -o - --sparsity 0.9 -q 2>err >out
cmp out pruned.safetensors || fail 'a pipe on both ends changes the bytes'
[ ! -s err ] || fail '-q -o - prints to standard error'
sten-prune in.safetensors -o /dev/stdout --sparsity 0.9 -q 2>err >out
cmp out pruned.safetensors || fail '-o /dev/stdout differs from -o -'
sten-prune in.safetensors -o - --sparsity 0.9 --dry-run 2>err >out
[ ! -s out ] || fail '--dry-run -o - wrote something'

# energy reads either side from a pipe.
expect_exit 0 sten-energy pruned.safetensors --against in.safetensors
cp out wanted
expect_exit 0 sten-energy - --against in.safetensors <pruned.safetensors
sed "s/standard input/pruned.safetensors/" out | cmp - wanted || fail 'energy of a pipe differs'
cat in.safetensors | sten-energy pruned.safetensors --against - >out 2>err
cmp out wanted || fail 'energy against a pipe differs'

# FIFOs.
mkfifo fifo
cat in.safetensors >fifo &
expect_exit 0 sten-prune fifo -o from_fifo --sparsity 0.9
cmp from_fifo pruned.safetensors || fail 'a FIFO as input changes the bytes'
cat fifo >to_fifo &
expect_exit 0 sten-prune in.safetensors -o fifo --sparsity 0.9
wait $!
cmp to_fifo pruned.safetensors || fail 'a FIFO as output changes the bytes'
sten-prune <(cat in.safetensors) -o >(cat >substituted) --sparsity 0.9 -q >/dev/null
for i in $(seq 100); do
  cmp -s substituted pruned.safetensors && break
  sleep 0.05
done
cmp substituted pruned.safetensors || fail 'process substitution changes the bytes'

# What is wrong with piped data is said of "standard input" or the FIFO.
expect_exit 1 sten-prune - -o o --sparsity 0.9 </dev/null
expect_one_line_err
expect_err 'sten-prune: standard input: is '
head -c 100000 in.safetensors >fifo &
expect_exit 1 sten-prune fifo -o o --sparsity 0.9
expect_one_line_err
expect_err 'sten-prune: fifo: '
expect_err 'is the file truncated?'
expect_exit 1 sten-prune - -o o --sparsity 0.9 <&-
expect_one_line_err
expect_err 'standard input: Bad file descriptor'
# A descriptor that the caller closed is never taken by an output, into which messages would go.
(sten-prune in.safetensors -o closed --sparsity 0.9 -v --progress always >&- 2>&-) &&
  fail "nothing could be printed, but that was no error"
cmp closed pruned.safetensors || fail "what was printed went into the output"
[ ! -e o ] || fail 'a bad pipe left an output'
TMPDIR=$T/missing expect_exit 1 sten-prune - -o o --sparsity 0.9 < <(cat in.safetensors)
expect_one_line_err
expect_err 'TMPDIR'

# A reader that has seen enough ends the program quietly.
for reader in 'head -c 1' true; do
  for command in 'sten-prune in.safetensors -o - --sparsity 0.9' \
    'sten-convert in.safetensors -o - --to csr' 'sten-energy in.safetensors --json'; do
    $command -q 2>err | $reader >/dev/null && ends=("${PIPESTATUS[@]}") || ends=("${PIPESTATUS[@]}")
    case ${ends[0]} in
      0 | 141) ;;
      *) fail "'$command | $reader' ended with ${ends[0]}" ;;
    esac
    [ ! -s err ] || fail "'$command | $reader' prints an error"
  done
done
[ -z "$(ls -A "$T" | grep '^\.')" ] || fail 'something hidden was left behind'

# Nobody wants a checkpoint on the screen.
if command -v script >/dev/null; then
  script -qec 'sten-prune in.safetensors -o - --sparsity 0.9; echo "code $?"' /dev/null \
    </dev/null >out 2>&1 || true
  expect_out 'sten-prune: standard output: binary output cannot be written to a terminal'
  expect_out 'code 2'
  script -qec 'sten-prune - -o o --sparsity 0.9; echo "code $?"' /dev/null </dev/null >out 2>&1 \
    || true
  expect_out 'sten-prune: standard input: expected a file or a pipe, got a terminal'
  expect_out 'code 2'
fi
