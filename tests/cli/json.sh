# SPDX-License-Identifier: Apache-2.0
# --json prints exactly one JSON document.
. "$(dirname "$0")/_lib.sh"

cd "$T"
ln -s "$MODEL" in.safetensors
some='--include *layer.1.output.* --include *layer.1.*key.weight'

expect_exit 0 sten-prune in.safetensors -o pruned.safetensors --structure nmg:n=2,m=4,g=2 --to nmg \
  --json $some
golden json_prune
cp out prune.json
expect_exit 0 sten-convert pruned.safetensors -o csr.safetensors --to csr --json $some
golden json_convert
expect_exit 0 sten-energy csr.safetensors --against in.safetensors --json $some
golden json_energy
cp out energy.json

# -q, -v and --progress change only standard error.
for flag in -q -v '--progress always'; do
  expect_exit 0 sten-energy csr.safetensors --against in.safetensors --json $some $flag
  cmp out energy.json || fail "--json $flag differs from --json"
done
# --summary leaves out the rows of the tensors.
expect_exit 0 sten-energy csr.safetensors --json --summary
expect_out '"tensors": [],'
# A dry run prints the same report without the size of the output file.
expect_exit 0 sten-prune in.safetensors --dry-run --structure nmg:n=2,m=4,g=2 --to nmg --json $some
for f in prune.json out; do grep -v -e file_bytes_after -e 'whole model' $f >$f.same; done
cmp prune.json.same out.same ||
  fail '--dry-run --json differs from --json in more than the file size'
# An error leaves standard output empty.
expect_exit 1 sten-energy missing.safetensors --json
expect_one_line_err
[ ! -s out ] || fail 'an error printed to standard output'
