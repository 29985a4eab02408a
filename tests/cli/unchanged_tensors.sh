# SPDX-License-Identifier: Apache-2.0
# Unselected tensors, metadata and the order of tensors are preserved.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

cd "$T"
# offsets FILE: "NAME BEGIN END" of every tensor, in the order of the header.
offsets() {
  header "$1" | sed 's/},"/}\n"/g' |
    sed -nE 's/^\{?.*"([^"]*)":\{"dtype".*"data_offsets":\[([0-9]+),([0-9]+)\].*/\1 \2 \3/p'
}
# piece FILE BEGIN END: the bytes from BEGIN to END of the data, on stdout.
piece() { tail -c +$(($(data_offset "$1") + $2 + 1)) "$1" | head -c $(($3 - $2)); }

offsets "$MODEL" >from
[ "$(wc -l <from)" = 74 ] || fail 'expected 74 tensors in the shipped model'
sten-prune "$MODEL" -o pruned.safetensors --sparsity 0.9 -q >/dev/null
offsets pruned.safetensors >to
cmp from to || fail 'names, order or offsets changed'
data "$MODEL" >from.data
data pruned.safetensors >to.data
grep -vE '(dense|query|key|value)\.weight' from | while read -r name begin end; do
  cmp -n $((end - begin)) -i "$begin" from.data to.data || fail "$name changed"
done
while read -r name begin end; do
  case $name in *layer.*.dense.weight) ;; *) continue ;; esac
  cmp -s -n $((end - begin)) -i "$begin" from.data to.data && fail "$name did not change"
done <from

# In a sparse layout, the parts of a tensor take its place in the order.
sten-prune "$MODEL" -o bitmask.safetensors --sparsity 0.9 --to bitmask -q >/dev/null
offsets bitmask.safetensors >to
sed -E 's/ .*//; s/::(mask|values)$//' to | uniq >names
cut -d' ' -f1 from | cmp - names || fail 'the order of the tensors changed'
data bitmask.safetensors >to.data
grep -v '::' to | while read -r name begin end; do
  read -r _ from_begin from_end < <(grep "^$name " from)
  [ $((end - begin)) = $((from_end - from_begin)) ] || fail "the size of $name changed"
  cmp -n $((end - begin)) -i "$from_begin:$begin" from.data to.data || fail "$name changed"
done
# The data of parts and tensors are adjacent, without gaps.
awk 'NR > 1 && $2 != end { exit 1 } { end = $3 }' to || fail 'the data have gaps'
for file in pruned bitmask; do
  header $file.safetensors | grep -qF '"format":"pt"' || fail "$file: metadata 'format' is missing"
  [ $(($(data_offset $file.safetensors) % 8)) = 0 ] || fail "$file: data are not aligned"
done
header bitmask.safetensors |
  grep -qF '"sten:cls.predictions.transform.dense.weight":"{\"layout\":\"bitmask\",\"shape\":[160,160],\"dtype\":\"F32\"}"' ||
  fail 'the metadata do not describe the layout'

# Metadata in any script, dtypes that no program computes in, empty tensors, and a header in a
# different order than the data.
meta='"__metadata__":{"format":"pt","note":"naïve \"日本\" \\ \n","empty":""}'
safetensors in.safetensors "{$(entry z.weight F32 2,2 8 24),$meta,$(entry flags BOOL 3 0 3),\
$(entry c C64 '' 24 32),$(entry ids I16 2 4 8),$(entry none F32 0,7 24 24),\
$(entry half F4 2 3 4)}" '\x01\x00\x01\x5a\x01\x80\xff\x7f'"$F1$F2$F3$F4"'\xde\xad\xbe\xef\xde\xad\xbe\xef'
expect_exit 0 sten-prune in.safetensors -o out.safetensors --sparsity 0.5
header out.safetensors >text
grep -qF '"format":"pt","note":"naïve \"日本\" \\ \n","empty":""' text || fail 'metadata changed'
[ "$(offsets out.safetensors | cut -d' ' -f1 | tr '\n' ' ')" = 'z.weight flags c ids none half ' \
  ] ||
  fail 'the order of the header changed'
grep -qF '"half":{"dtype":"F4","shape":[2]' text || fail 'a small dtype changed'
grep -qF '"none":{"dtype":"F32","shape":[0,7]' text || fail 'an empty tensor changed'
offsets out.safetensors | while read -r name begin end; do
  read -r _ from_begin from_end < <(offsets in.safetensors | grep "^$name ")
  piece in.safetensors "$from_begin" "$from_end" >wanted
  [ "$name" != z.weight ] || printf '%b' "$F0$F0$F3$F4" >wanted
  piece out.safetensors "$begin" "$end" | cmp - wanted || fail "the data of $name are wrong"
done

# The provenance records each step in order, without paths and times.
sten-convert out.safetensors -o steps.safetensors --to csr -q >/dev/null
header steps.safetensors >text
grep -qF '"sten.provenance":"[{\"program\":\"sten-prune\",\"version\":' text ||
  fail 'the provenance does not start with sten-prune'
grep -qF '\"options\":[\"sparsifier=magnitude:sparsity=0.5\",\"to=dense\"]},{\"program\":\"sten-convert\"' text ||
  fail 'the provenance lacks the options of sten-prune or the step of sten-convert'
grep -qF "$T" text && fail 'a path is in the output'
true
