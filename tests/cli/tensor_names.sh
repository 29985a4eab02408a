# SPDX-License-Identifier: Apache-2.0
# Tensor names can contain any script, blanks and quotes. Control characters in names are escaped.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

cd "$T"
names=('слой.1.weight' '层.weight' 'a b  c.weight' "it's \"so\".weight" '$(reboot);`x`.weight'
  'a/b\c.weight' '🙂.weight' 'a,b=c:d.weight' 'a|b*c?[d].weight' '-.weight')
entries=
data=
for i in "${!names[@]}"; do
  json=${names[i]//\\/\\\\}
  entries+=,$(entry "${json//\"/\\\"}" F32 2,2 $((16 * i)) $((16 * i + 16)))
  data+=$F1$F2$F3$F4
done
safetensors in.safetensors "{${entries#,}}" "$data"

expect_exit 0 sten-prune in.safetensors -o pruned.safetensors --sparsity 0.5 --to bitmask -v
for name in "${names[@]}"; do
  expect_out "$name  "
  grep -qxF "sten-prune: selected $name" err || fail "-v lacks $name"
done
expect_exit 0 sten-convert pruned.safetensors -o dense.safetensors --to dense
expect_exit 0 sten-energy dense.safetensors --against in.safetensors --json
expect_out '"selected": 10,'
expect_out "\"name\": \"it's \\\"so\\\".weight\""
expect_out '"name": "a/b\\c.weight"'
expect_out '"name": "🙂.weight"'
# --include selects each tensor by its exact name; glob characters are escaped with brackets.
for name in "${names[@]}"; do
  [ "$name" != 'a|b*c?[d].weight' ] || name='a|b[*]c[?][[]d].weight'
  expect_exit 0 sten-energy dense.safetensors --include="$name" --json
  expect_out '"selected": 1,'
done
expect_exit 0 sten-energy dense.safetensors --include '*слой*' --include 're:\p{Han}\.weight' --json
expect_out '"selected": 2,'
expect_exit 2 sten-energy dense.safetensors --include 'слои.1.weight'
expect_err "did you mean 'слой.1.weight'?"
# A bar in a name does not split a Markdown cell, and a comma does not split a CSV field.
expect_exit 0 sten-energy dense.safetensors --report report.md
grep -qF '| a\|b\*c?\[d\].weight | 2x2 |' report.md || fail 'a bar is not escaped in Markdown'
expect_exit 0 sten-energy dense.safetensors --report report.csv
grep -qF '"a,b=c:d.weight",2x2,' report.csv || fail 'a name with a comma is not quoted in CSV'
grep -qF '"it'"'"'s ""so"".weight",2x2,' report.csv || fail 'a quote is not escaped in CSV'

# Tables list tensors in natural order: 2 before 10.
safetensors in.safetensors "{$(entry l.10.weight F32 1,1 0 4),$(entry l.2.weight F32 1,1 4 8)}" \
  "$F1$F2"
expect_exit 0 sten-energy in.safetensors
grep -oE '^l\.[0-9]+' out | tr '\n' ' ' | grep -qx 'l.2 l.10 ' || fail 'l.10 comes before l.2'

# Control characters of a tensor name, metadata, a file name or the command line are printed as
# escaped text, so that they cannot control the terminal.
escape=$(printf '\033')
quiet() { # quiet COMMAND...: the output has no control characters
  "$@" >out 2>err || true
  [ -s err ] || fail "'$*' printed nothing to stderr"
  cat out err | tr '\n\t' '  ' | grep -q '[[:cntrl:]]' && fail "'$*' printed a control character"
  grep -qi 'x1b\|u+001b\|u202e\|u009b' err ||
    fail "'$*' does not show the control character as escaped text"
}
evil='a\u001b[2J\u001b]0;owned\u0007.weight'
safetensors evil.safetensors "{$(entry "$evil" F32 1,1 0 4)}" "$F1"
quiet sten-prune evil.safetensors -o o --sparsity 0.5
safetensors evil.safetensors "{$(entry 'a\u202egnp.weight' F32 1,1 0 4)}" "$F1"
quiet sten-energy evil.safetensors
safetensors evil.safetensors "{$(entry 'a\u009b2J.weight' F32 1,1 0 4)}" "$F1"
quiet sten-energy evil.safetensors
safetensors evil.safetensors "{\"__metadata__\":{\"sten:$evil\":\"{}\"}}"
quiet sten-energy evil.safetensors
safetensors evil.safetensors \
  '{"__metadata__":{"sten:a":"{\"layout\":\"\\u001b[2J\",\"shape\":[1],\"dtype\":\"F32\"}"}}'
quiet sten-energy evil.safetensors
safetensors evil.safetensors \
  '{"__metadata__":{"sten:a":"{\"layout\":\"csr\",\"shape\":[1],\"dtype\":\"\\u001b[2J\"}"}}'
quiet sten-energy evil.safetensors
safetensors evil.safetensors \
  "{\"a\":{\"dtype\":\"\\u001b[2J\",\"shape\":[1],\"data_offsets\":[0,4]}}" "$F1"
quiet sten-energy evil.safetensors
safetensors evil.safetensors \
  "{\"a\":{\"\\u001b[2J\":1,\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[0,4]}}" "$F1"
quiet sten-energy evil.safetensors --include a # an unknown field: a warning
safetensors evil.safetensors "{\"\\u001b[2J$escape"
expect_exit 1 sten-energy evil.safetensors
grep -qx 'sten-energy: evil.safetensors: header: invalid JSON at byte 19 of the file' err || fail 'expected an error with the byte position and no part of the header'
cp in.safetensors "${escape}[2J.safetensors"
quiet sten-energy "${escape}[2J.safetensors" --include nothing
quiet sten-energy "missing${escape}[2J"
quiet sten-energy in.safetensors --include "${escape}[2J"
quiet sten-energy in.safetensors --include "re:(${escape}[2J"
quiet sten-prune in.safetensors -o "no${escape}[2J/o" --sparsity 0.5
quiet sten-prune in.safetensors -o o --sparsity 0.5 --report "${escape}[2J.txt"
quiet sten-prune in.safetensors -o o --sparsity 0.5 --method "${escape}[2J"
quiet sten-prune in.safetensors -o o --sparsity "${escape}[2J"
quiet sten-prune in.safetensors -o o --sparsity 0.5 --progress "${escape}[2J"
quiet sten-prune in.safetensors -o o --sparsity 0.5 "--${escape}[2J"
held 39 quiet sten-convert in.safetensors -o o --to "csr:${escape}[2J=1"

# Names that a reader would reject are rejected on reading and on writing: the name of a sparse
# tensor, and the names of the parts that store it.
named() { # named NAME: writes bad.safetensors, a valid bitmask tensor with this name
  safetensors bad.safetensors \
    "{\"__metadata__\":{\"sten:$1\":\"{\\\"layout\\\":\\\"bitmask\\\",\\\"shape\\\":[2,3],\\\"dtype\\\":\\\"F32\\\"}\"},$(entry "$1::mask" U8 1 0 1),$(entry "$1::values" F32 3 1 13)}" \
    '\x26'"$F1$F2$F3"
}
for name in __metadata__ .. x/.. ../x '' /x; do
  named "$name"
  for command in 'sten-energy bad.safetensors' 'sten-convert bad.safetensors -o o --to dense' \
    'sten-convert bad.safetensors -o o --to csr'; do
    expect_exit 1 $command
    expect_one_line_err
    expect_err 'the name is'
    [ ! -e o ] || fail "'$command' left an output"
  done
done
named w
expect_exit 0 sten-convert bad.safetensors -o o --to dense
rm o
long=$(repeat 4089 n)
safetensors long.safetensors "{$(entry $long F32 2,3 0 24)}" "$F0$F1$F2$F0$F0$F3"
expect_exit 1 sten-convert long.safetensors -o o --to bitmask --include '*'
expect_one_line_err
expect_err 'the name has 4097 bytes, more than 4096'
[ ! -e o ] || fail 'an output with an invalid name was left'
