#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Continues a text, and answers a message of a chat if the model is made for chats. Needs sten-run in PATH.
#
#   recipes/llm/generate.sh [MODEL]    a directory of transformers or a GGUF file; default: SmolLM2-135M-Instruct
. "$(dirname "$0")/model.sh"
sten-run "$MODEL" --prompt 'The capital of France is' --generate 64
echo
$is_chat_model || exit 0
sten-run "$MODEL" --chat '[{"role": "user", "content": "Name three colours of the rainbow."}]' --generate 64
