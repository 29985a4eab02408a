#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a Python test with STEN_PYTHON or in the build's virtual environment; exit 77 (skipped)
# without either.
#   tests/interop/_run.sh BUILD_DIR SCRIPT
set -eu
python=${STEN_PYTHON:-$1/venv/bin/python}
if ! "$python" -c 'import safetensors, numpy, ml_dtypes' 2>/dev/null; then
  echo "skipped: $python is missing or lacks safetensors, numpy and ml_dtypes; scripts/test.sh installs them"
  exit 77
fi
exec "$python" -B "$2"
