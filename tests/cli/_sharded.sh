# SPDX-License-Identifier: Apache-2.0
# Makes a sharded checkpoint from the shipped model, using only coreutils: its tensors, in order, in
# three shards. After _safetensors.sh:
#   make_sharded DIR

make_sharded() {
  local dir=$1 shards=3 header start line=0 lines name body begin end off=0 shard=0 text= first=0
  mkdir -p "$dir/extra"
  header=$(od -An -t u8 --endian=little -N 8 "$MODEL" | tr -d ' ')
  start=$((header + 8))
  # One entry a line: name, rest, begin, end.
  head -c $start "$MODEL" | tail -c "$header" | sed 's/"__metadata__":{[^}]*},*//; s/}[, ]*"/}\n"/g' |
    sed -n 's/.*"\([^"]*\)": *{\(.*\)"data_offsets": *\[\([0-9]*\), *\([0-9]*\)\].*/\1\t\2\t\3\t\4/p' |
    sort -t "$(printf '\t')" -k3,3n -k4,4n >"$dir/list"
  lines=$(wc -l <"$dir/list")
  printf '{"metadata":{"total_size":%d},"weight_map":{' "$(tail -n 1 "$dir/list" | cut -f4)" \
    >"$dir/model.safetensors.index.json"
  while IFS=$(printf '\t') read -r name body begin end; do
    line=$((line + 1))
    [ -n "$text" ] || first=$begin
    text="$text,\"$name\":{$body\"data_offsets\":[$((begin - first)),$((end - first))]}"
    printf '%s"%s":"model-%05d-of-%05d.safetensors"' "$([ $line -gt 1 ] && echo ,)" "$name" \
      $((shard + 1)) $shards >>"$dir/model.safetensors.index.json"
    if [ $line -eq $((lines * (shard + 1) / shards)) ]; then
      shard=$((shard + 1))
      text="{\"__metadata__\":{\"format\":\"pt\"}$text}"
      {
        le64 ${#text}
        printf %s "$text"
        tail -c +$((start + first + 1)) "$MODEL" | head -c $((end - first))
      } >"$dir/$(printf 'model-%05d-of-%05d.safetensors' $shard $shards)"
      text=
    fi
  done <"$dir/list"
  printf '}}' >>"$dir/model.safetensors.index.json"
  rm "$dir/list"
  echo '{"model_type": "bert"}' >"$dir/config.json"
  echo vocabulary >"$dir/extra/vocab.txt"
}
