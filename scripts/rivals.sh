#!/usr/bin/env bash
# Measures sten beside PyTorch, ONNX Runtime and DeepSparse on the same products: see docs/bench.md.
#   scripts/rivals.sh [--help]
set -euo pipefail
command -v python3 >/dev/null || {
  echo "rivals: python3 is missing" >&2
  exit 1
}
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/bench/rivals" "$@"
