# SPDX-License-Identifier: Apache-2.0
# The programs work in pipelines: "-" is standard input or output, and FIFOs work like files.
. "$(dirname "$0")/_lib.sh"

cd "$T"
ln -s "$MODEL" in.safetensors

# A pipeline writes the same bytes as separate steps with files in between.
sten-prune in.safetensors -o pruned.safetensors --sparsity 0.9 >table 2>err
sten-convert pruned.safetensors -o bitmask.safetensors --to bitmask -q >/dev/null
sten-prune - -o - --sparsity 0.9 <in.safetensors 2>err | sten-convert - -o out --to bitmask -q >out2
cmp out bitmask.safetensors || fail 'the output of the pipeline differs from that of the two steps'
# With -o -, standard output has only the checkpoint; the table goes to standard error.
grep -v ' s, peak memory' err | cmp - table || fail 'stderr differs from the table of the file run'
grep -q 'peak memory' err || fail '-o - does not print time and peak memory'
cat in.safetensors | sten-prune - -o - --sparsity 0.9 -q 2>err >out
cmp out pruned.safetensors || fail 'a run with pipes on both ends writes different bytes'
[ ! -s err ] || fail '-q -o - prints to standard error'
sten-prune in.safetensors -o /dev/stdout --sparsity 0.9 -q 2>err >out
cmp out pruned.safetensors || fail '-o /dev/stdout differs from -o -'
sten-prune in.safetensors -o - --sparsity 0.9 --dry-run 2>err >out
[ ! -s out ] || fail '--dry-run -o - wrote to standard output'

# sten-energy can read either input from a pipe.
expect_exit 0 sten-energy pruned.safetensors --against in.safetensors
cp out wanted
expect_exit 0 sten-energy - --against in.safetensors <pruned.safetensors
sed "s/standard input/pruned.safetensors/" out | cmp - wanted || fail 'a pipe changes the report'
cat in.safetensors | sten-energy pruned.safetensors --against - >out 2>err
cmp out wanted || fail 'a pipe as --against changes the report'

# FIFOs and process substitution as input and output.
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

# Errors in piped data name "standard input" or the FIFO.
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
# If the caller closed stdout and stderr, the output file must not get their descriptors: messages
# would be written into it.
(sten-prune in.safetensors -o closed --sparsity 0.9 -v --progress always >&- 2>&-) &&
  fail "expected a failure, since stdout and stderr are closed"
cmp closed pruned.safetensors || fail "messages were written into the output"
[ ! -e o ] || fail 'a run with bad piped input left an output'
TMPDIR=$T/missing expect_exit 1 sten-prune - -o o --sparsity 0.9 < <(cat in.safetensors)
expect_one_line_err
expect_err 'TMPDIR'

# If the reader closes the pipe early, the program ends without an error message.
for reader in 'head -c 1' true; do
  for command in 'sten-prune in.safetensors -o - --sparsity 0.9' \
    'sten-convert in.safetensors -o - --to csr' 'sten-energy in.safetensors --json'; do
    $command -q 2>err | $reader >/dev/null && ends=("${PIPESTATUS[@]}") || ends=("${PIPESTATUS[@]}")
    case ${ends[0]} in
      0 | 141) ;;
      *) fail "'$command | $reader': expected exit code 0 or 141 (SIGPIPE), got ${ends[0]}" ;;
    esac
    [ ! -s err ] || fail "'$command | $reader' prints an error"
  done
done
[ -z "$(ls -A "$T" | grep '^\.')" ] || fail 'hidden temporary files were left'

# Checkpoints are neither written to a terminal nor read from one.
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
