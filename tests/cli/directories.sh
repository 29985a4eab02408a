# SPDX-License-Identifier: Apache-2.0
# Directories of diffusers, PEFT and other libraries: the choice of the checkpoint and its companion
# files.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

# weights FILE NAME: writes one matrix NAME, 1 2 / 3 4; at sparsity 0.5 it is 0 0 / 3 4.
weights() { safetensors "$1" "{$(entry "$2" F32 2,2 0 16)}" "$F1$F2$F3$F4"; }
weights whole any.weight
data whole >dense
printf '%b' "$F0$F0$F3$F4" >half
holds() { data "$1" | cmp - "$2" || fail "the data of $1 differ from $2"; }
files() { (cd "$1" && find . -type f ! -name '.*' | sed 's|^./||' | LC_ALL=C sort | tr '\n' ' '); }
has() { [ "$(files "$1")" = "$2 " ] || fail "$1: expected the files $2, got $(files "$1")"; }

# A pipeline: the denoiser is pruned, everything else is copied, and the output names the folders.
pipeline() { # DIR DENOISER
  mkdir -p "$1/$2" "$1/scheduler" "$1/text_encoder" "$1/vae"
  echo '{"_class_name": "DDPMPipeline"}' >"$1/model_index.json"
  echo '{}' | tee "$1/$2/config.json" "$1/text_encoder/config.json" "$1/vae/config.json" \
    >"$1/scheduler/scheduler_config.json"
  weights "$1/$2/diffusion_pytorch_model.safetensors" mid.conv.weight
  weights "$1/vae/diffusion_pytorch_model.safetensors" mid.conv.weight
  weights "$1/text_encoder/model.safetensors" layers.0.q_proj.weight
}
for name in unet transformer prior; do
  pipeline $name.in $name
  for program in 'sten-prune --sparsity 0.5' 'sten-prune --sparsity 0.5 --dry-run' 'sten-convert --to bitmask' \
    sten-energy 'sten-energy --sweep'; do
    case $program in *prune* | *convert*) to="-o $name.out" ;; *) to= ;; esac
    rm -rf $name.out
    expect_exit 0 $program $name.in $to --summary
    expect_out "took $name/ of the pipeline, not text_encoder/, vae/"
  done
  expect_exit 0 sten-prune $name.in -o $name.out --sparsity 0.5 -q
  has $name.out "$(files $name.in | sed 's/ $//')"
  holds $name.out/$name/diffusion_pytorch_model.safetensors half
  holds $name.out/vae/diffusion_pytorch_model.safetensors dense
  holds $name.out/text_encoder/model.safetensors dense
done
# Other weight files of the denoiser are left behind; those of the other folders are copied.
for f in v1-pruned.safetensors unet/diffusion_pytorch_model.fp16.safetensors unet/diffusion_pytorch_model.bin \
  vae/diffusion_pytorch_model.fp16.safetensors vae/model.onnx; do echo x >"unet.in/$f"; done
expect_exit 0 sten-prune unet.in -o left.out --sparsity 0.5 --summary
expect_out "left behind, with the weights of before: unet/diffusion_pytorch_model.bin, \
unet/diffusion_pytorch_model.fp16.safetensors, v1-pruned.safetensors; --keep-other-weights copies"
has left.out "model_index.json scheduler/scheduler_config.json text_encoder/config.json \
text_encoder/model.safetensors unet/config.json unet/diffusion_pytorch_model.safetensors vae/config.json \
vae/diffusion_pytorch_model.fp16.safetensors vae/diffusion_pytorch_model.safetensors vae/model.onnx"
rm -r left.out
# Conversion to bitmask and back, with shards and their index in the folder.
mv unet.in/unet/diffusion_pytorch_model.safetensors unet.in/unet/diffusion_pytorch_model-00001-of-00002.safetensors
weights unet.in/unet/diffusion_pytorch_model-00002-of-00002.safetensors up.conv.weight
echo '{"weight_map":{"mid.conv.weight":"diffusion_pytorch_model-00001-of-00002.safetensors",
  "up.conv.weight":"diffusion_pytorch_model-00002-of-00002.safetensors"}}' \
  >unet.in/unet/diffusion_pytorch_model.safetensors.index.json
expect_exit 0 sten-prune unet.in -o small --sparsity 0.5 --to bitmask -q
for f in -00001-of-00002.safetensors -00002-of-00002.safetensors .safetensors.index.json; do
  [ -s "small/unet/diffusion_pytorch_model.sten$f" ] ||
    fail "missing diffusion_pytorch_model.sten$f, got $(files small)"
  [ ! -e "small/unet/diffusion_pytorch_model$f" ] ||
    fail "the dense diffusion_pytorch_model$f was copied"
done
grep -q '"mid.conv.weight::mask": "diffusion_pytorch_model.sten-00001' \
  small/unet/diffusion_pytorch_model.sten.safetensors.index.json ||
    fail 'the index does not map mid.conv.weight::mask to the first shard'
expect_exit 0 sten-energy small --against unet.in --min-energy 0.69 --summary
expect_exit 0 sten-convert small -o back --to dense -q
holds back/unet/diffusion_pytorch_model-00002-of-00002.safetensors half
[ "$(stat -c %a back/unet)" = "$(stat -c %a unet.in/unet)" ] ||
  fail 'the permissions of back/unet differ from those of unet.in/unet'
# Pruning in stages selects the same folder.
expect_exit 0 sten-prune unet.in -o staged --schedule linear:from=0,to=0.5,stages=2 --state states --finetune 'cp -r {in} {out}'
expect_out 'took unet/ of the pipeline'
holds staged/unet/diffusion_pytorch_model-00001-of-00002.safetensors half
# One part of a pipeline is selected by its folder, also in a hub cache with symbolic links.
expect_exit 0 sten-prune prior.in/vae -o vae.out --sparsity 0.5 -q
holds vae.out/diffusion_pytorch_model.safetensors half
mkdir -p hub/blobs hub/snapshots/r1 && cp -r prior.in/. hub/snapshots/r1
mv hub/snapshots/r1/prior/diffusion_pytorch_model.safetensors hub/blobs/abc
ln -s ../../../blobs/abc hub/snapshots/r1/prior/diffusion_pytorch_model.safetensors
for input in hub/snapshots/r1 hub/snapshots/r1/prior; do
  rm -rf hub.out
  expect_exit 0 sten-prune $input -o hub.out --sparsity 0.5 -q
  holds "$(find hub.out -path '*prior*' -name 'diff*.safetensors' -o -path 'hub.out/diff*.safetensors')" half
done
ln -sf ../../../../whole hub/snapshots/r1/prior/diffusion_pytorch_model.safetensors
expect_exit 1 sten-prune hub/snapshots/r1/prior -o hub.no --sparsity 0.5
expect_err 'links to a file outside the directory'
# A pipeline without a known denoiser: its only folder with weights is used; several are an error.
pipeline other.in movq
expect_exit 1 sten-prune other.in -o other.out --sparsity 0.5
expect_one_line_err
expect_err "other.in: the pipeline has weights in 'movq/', 'text_encoder/', 'vae/' (name one of these folders)"
rm other.in/vae/*.safetensors other.in/text_encoder/*.safetensors
expect_exit 0 sten-prune other.in -o other.out --sparsity 0.5 --summary
expect_out 'took movq/ of the pipeline'
rm other.in/movq/*.safetensors
expect_exit 1 sten-prune other.in -o other.no --sparsity 0.5
expect_err 'other.in: expected a safetensors file in a folder of the pipeline'

# A PEFT adapter is pruned, without its weights in another format. Beside a model it is copied.
mkdir adapter.in
weights adapter.in/adapter_model.safetensors base_model.model.layers.0.q_proj.lora_A.weight
echo '{"peft_type": "LORA"}' >adapter.in/adapter_config.json
echo x | tee adapter.in/adapter_model.bin >adapter.in/README.md
expect_exit 0 sten-prune adapter.in -o adapter.out --sparsity 0.5 --summary
expect_out 'left behind, with the weights of before: adapter_model.bin; --keep-other-weights copies'
has adapter.out 'README.md adapter_config.json adapter_model.safetensors'
holds adapter.out/adapter_model.safetensors half
expect_exit 0 sten-convert adapter.out -o adapter.small --to csr -q
has adapter.small 'README.md adapter_config.json adapter_model.sten.safetensors'
expect_exit 0 sten-energy adapter.small --against adapter.in --min-energy 0.69
weights adapter.in/model.safetensors layers.0.q_proj.weight
expect_exit 0 sten-prune adapter.in -o both.out --sparsity 0.5 -q
holds both.out/model.safetensors half
holds both.out/adapter_model.safetensors dense

# The only safetensors file is used, whatever its name; of several, one has to be named.
mkdir odd.in
weights odd.in/my-model-v2.safetensors fc.0.weight
echo '{}' >odd.in/config.json
expect_exit 0 sten-prune odd.in -o odd.out --sparsity 0.5 -q
has odd.out 'config.json my-model-v2.safetensors'
holds odd.out/my-model-v2.safetensors half
expect_exit 0 sten-convert odd.out -o odd.small --to bitmask -q
has odd.small 'config.json my-model-v2.sten.safetensors'
expect_exit 0 sten-energy odd.small --against odd.in --min-energy 0.69
weights odd.in/another.safetensors fc.0.weight
expect_exit 1 sten-energy odd.in
expect_one_line_err
expect_err "odd.in: expected model.safetensors or an index, got a directory of 2 safetensors files \
(name one, such as 'another.safetensors')"
