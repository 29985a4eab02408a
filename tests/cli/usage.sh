# SPDX-License-Identifier: Apache-2.0
# Invalid command lines exit with 2 and one line that says what to do, before any work.
. "$(dirname "$0")/_lib.sh"

cd "$T"
ln -s "$MODEL" in.safetensors

# wrong TEXT PROGRAM ARGUMENT...: the command is rejected with one line that contains TEXT.
wrong() {
  expect_exit 2 "${@:2}"
  expect_one_line_err
  expect_err "$1"
  [ ! -s out ] || fail "'${*:2}' printed something"
  [ ! -e o.safetensors ] || fail "'${*:2}' left an output"
}
prune() { wrong "$1" sten-prune in.safetensors -o o.safetensors "${@:2}"; }
convert() { wrong "$1" sten-convert in.safetensors -o o.safetensors "${@:2}"; }
energy() { wrong "$1" sten-energy in.safetensors "${@:2}"; }

# Flags.
prune "unknown option '--sparsty', did you mean '--sparsity'?" --sparsty 0.9
prune "unknown option '--sparsty', did you mean '--sparsity'?" --sparsity=0.9 --sparsty=0.9
prune "unknown option '--forced', did you mean '--force'?" --sparsity 0.9 --forced
prune "unknown option '--spar\\x1b[31msity', did you mean '--sparsity'?" $'--spar\e[31msity' 1
prune "unknown option '-x'" --sparsity 0.9 -x
prune "unknown option '-x'" --sparsity 0.9 -fqx
convert "unknown option '--too', did you mean '--to'?" --too bitmask
convert "unknown option '--loss-less', did you mean '--lossless'?" --to csr --loss-less
convert "unknown option '--sparsity'" --to csr --sparsity 0.9
energy "unknown option '--agianst', did you mean '--against'?" --agianst in.safetensors
energy "unknown option '-o'" -o o.safetensors

# Missing and superfluous arguments.
for program in sten-prune sten-convert sten-energy; do wrong 'IN is required' $program; done
wrong 'missing -o FILE' sten-prune in.safetensors --sparsity 0.9
wrong 'missing -o FILE' sten-convert in.safetensors --to bitmask
wrong 'missing --to LAYOUT' sten-convert in.safetensors -o o.safetensors
wrong 'empty input name' sten-prune '' -o o.safetensors --sparsity 0.9
prune 'missing --sparsity'
prune '--sparsity needs a value: X' --sparsity
prune '--sparsity takes one value, and is given 2 times' --sparsity 0.9 --sparsity 0.8
wrong "unexpected argument 'more.json'" sten-train recipe.json more.json
energy '--sweep: expected 1 input, got 2' more.safetensors --sweep
energy '--min-energy needs --against' --min-energy 0.5
wrong 'standard input cannot be both' sten-energy - --against -

# Empty values, for example from unset variables of a script.
prune '--mask has an empty value' --sparsity 0.9 --mask ''
energy '--against has an empty value' --against ''
wrong '--against has an empty value' sten-bench convert --shape 8x8 --repeats 1 --against ''
wrong '--data has an empty value' sten-run in.safetensors --data ''

# Numbers.
prune '--sparsity must be in [0, 1], got 1.4' --sparsity 1.4
prune '--sparsity must be in [0, 1], got -0.1' --sparsity -0.1
prune '--sparsity must be in [0, 1], got -0.1' --sparsity=-0.1
prune '--sparsity must be in [0, 1], got 90 (did you mean 0.9 or 90%?)' --sparsity 90
prune 'sparsity must be in [0, 1], got 90 (did you mean 0.9 or 90%?)' --rule '*=magnitude:sparsity=90'
prune "--device 'gpu': expected cpu, cuda or cuda:N, did you mean 'cuda'?" --sparsity 0.9 --device gpu
wrong "2 inputs need --out-dir (or -o before the output: -o 'o.safetensors')" sten-prune in.safetensors o.safetensors
held 56 prune '--sparsity must be in [0, 1], got nan' --sparsity nan
prune '--sparsity must be in [0, 1], got inf' --sparsity 1e999
prune "--sparsity 'abc' is not a number" --sparsity abc
prune "--sparsity '90%%' is not a number" --sparsity 90%%
prune "--sparsity '0,9' is not a number" --sparsity 0,9
prune '--min-energy must be in [0, 1], got 2' --sparsity 0.9 --min-energy 2
energy '--min-energy must be in [0, 1], got nan' --against in.safetensors --min-energy nan
prune "--threads '0' is not within [1, 4096]" --sparsity 0.9 --threads 0
prune "--threads 'many' is not within [1, 4096]" --sparsity 0.9 --threads many
prune "--seed '1.5' is not a number" --sparsity 0.9 --seed 1.5
prune '--force takes no value' --sparsity 0.9 --force=maybe
prune '--seed: -1 is below 0' --sparsity 0.9 --seed -1
prune '--seed: -1 is below 0' --sparsity 0.9 --seed=-1
prune '--seed: 18446744073709551616 is above 2^64 - 1' --sparsity 0.9 --seed 18446744073709551616
prune "--progress: unknown value 'sometimes' (expected one of auto,always,never)" --sparsity 0.9 --progress sometimes

# Methods.
prune "unknown --method 'magnitud', did you mean 'magnitude'? (expected one of magnitude, random, threshold, movement,\
 l0, gradient, wanda, ria, sparsegpt, admm)" --sparsity 0.9 --method magnitud
prune '--method threshold needs --at' --method threshold
prune '--sparsity and --method threshold exclude each other' \
  --method threshold --at 0.1 --sparsity 0.9
prune '--at belongs to --method threshold' --at 0.1 --sparsity 0.9
prune 'at must be >= 0, got -1' --method threshold --at -1
prune "expected a number as 'at'" --method threshold --at nan

# Structures and layouts.
prune "unknown structure 'nmgg', did you mean 'nmg'?" --structure nmgg:n=1,m=10,g=4
prune '--sparsity 0.5 contradicts --structure nmg:n=1,m=10,g=4 of sparsity 0.9' \
  --structure nmg:n=1,m=10,g=4 --sparsity 0.5
prune '--sparsity 0.9 contradicts --structure nm:n=2,m=4' --to nm:n=2,m=4 --sparsity 0.9
prune '--method random is only for unstructured pruning' --structure nm:n=2,m=4 --method random
prune 'expected 1 <= n <= m' --structure nmg:n=5,m=4,g=1
prune 'expected 1 <= n <= m' --structure nmg:n=0,m=4,g=1
prune 'expected 1 <= n <= m' --structure nm:n=0,m=0
prune 'expected 1 <= n <= m' --structure nm:n=-1,m=4
prune 'g must be >= 1, got 0' --structure nmg:n=1,m=4,g=0
prune 'a chunk would have more than 65536 strips' --structure nmg:n=300,m=600,g=1
prune 'a chunk would have more than 65536 strips' --structure nmg:n=1,m=2,g=9223372036854775807
prune "'nm:n=2': missing 'm'" --structure nm:n=2
prune "'nmg:n=1,m=4': missing 'g'" --structure nmg:n=1,m=4
held 58 prune "'nm' has no key 'axsi', did you mean 'axis'?" --structure nm:n=2,m=4,axsi=0
prune "'nm' has no key 'g'" --structure nm:n=2,m=4,g=1
prune "expected an integer as 'm'" --structure nm:n=2,m=4.0
prune "expected an integer as 'm'" --structure nm:n=2,m=99999999999999999999
prune "duplicate key 'n'" --structure nm:n=2,n=2,m=4
prune "expected key=value, got 'n'" --structure nm:n,m=4
prune 'comma at the end' --structure nm:n=2,m=4,
prune 'axis must be 0 or 1, got 2' --structure nm:n=2,m=4,axis=2
prune 'dims=1.1' --structure nm:n=2,m=4,dims=1.1
prune "'unstructured' takes no keys" --structure unstructured:n=1 --sparsity 0.9
prune "unknown layout 'bitmsk', did you mean 'bitmask'?" --to bitmsk --sparsity 0.9
prune '--to nm: missing parameters (or --structure nm)' --to nm --sparsity 0.5
convert "unknown layout 'bitmap', did you mean 'bitmask'?" --to bitmap
convert "unknown layout 'Dense', did you mean 'dense'?" --to Dense
convert "unknown layout 'quadtree'" --to quadtree
convert "'csr' has no key 'dim', did you mean 'dims'?" --to csr:dim=0.1
convert "'nmg:n=1,m=4': missing 'g'" --to nmg:n=1,m=4
convert "unknown layout 'b'" --to b
convert 'a spec looks like nmg:n=1,m=10,g=4' --to $'bit\e[2Jmask'
convert 'a spec looks like nmg:n=1,m=10,g=4' --to ':n=1'
grep -q "$(printf '\033')" err && fail 'an escape sequence was printed'

# Outputs: conflicts over standard output, and report formats.
wrong '--json and -o - both want standard output' sten-prune in.safetensors -o - --sparsity 0.9 \
  --json
wrong '--json and -o - both want standard output' sten-convert in.safetensors -o - --to csr --json
wrong 'both want standard output' sten-convert in.safetensors -o /dev/stdout --to csr --json
prune "expected a name that ends in .json, .csv, .md, .html or .svg" --sparsity 0.9 --report report.txt
prune "expected a name that ends in .json, .csv, .md, .html or .svg" --sparsity 0.9 --report json
energy "expected a name that ends in .json, .csv, .md, .html or .svg" --report report.htm
for report in report.txt json report.html; do
  [ ! -e $report ] || fail "$report was written"
done

# Structures that keep more of each block than the layout can store.
prune 'nm:n=3,m=4 keeps 3 of 4: too many for --to nm:n=2,m=4' --structure nm:n=3,m=4 --to nm:n=2,m=4
prune 'keeps 2 of 4: too many for --to nmg:n=1,m=4,g=1' --structure nm:n=2,m=4 --to nmg:n=1,m=4,g=1
prune 'keeps 3 of 4: too many for --to nm:n=2,m=4' --rule '*key.weight=nm:n=3,m=4' --to nm:n=2,m=4
