#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares sten with other runtimes on the same products, or with --model on whole models: see docs/bench.md.
#   scripts/rivals.sh [--model NAME] [--help]
set -euo pipefail
command -v python3 >/dev/null || {
  echo "rivals: python3 is missing" >&2
  exit 1
}
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/bench/rivals" "$@"
