#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# JSON is parsed in one place, libsten/core/base/json.cpp, which bounds the depth and throws errors that
# programs can report. Headers of safetensors files have their own reader, which builds no document.
#   scripts/checks/json_parser.sh [ROOT]          prints other places; exit 1 if there are any
set -eu
cd "${1:-$(dirname "$0")/../..}"
[ -d libsten ] || { echo "json: $PWD has no libsten/" >&2; exit 1; }
places=$(grep -rnE '(json|Json)(::|\.)(parse|accept|sax_parse)[[:space:]]*\(|json::from_(cbor|msgpack|ubjson|bson)|>>[[:space:]]*json' \
  apps libsten --include='*.cpp' --include='*.h' |
  grep -vE '^libsten/(core/base/json|files/tensors/safetensors_header)\.cpp:' || true)
[ -z "$places" ] || {
  echo "$places"
  echo "json: use parse_json() of libsten/core/base/json.h"
  exit 1
}
