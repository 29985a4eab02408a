# SPDX-License-Identifier: Apache-2.0
# The commands of docs/running.md work in order.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_docs.sh"

run_commands docs/running.md 6
for file in logits.npy pruned.safetensors; do [ -s $file ] || fail "$file is missing or empty"; done
