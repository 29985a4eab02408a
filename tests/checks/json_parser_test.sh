#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/checks/json_parser.sh accepts this tree, and names code that parses JSON by itself.
set -eu
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/checks/json_parser.sh
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
mkdir -p "$T/libsten/core/base" "$T/apps"
echo 'Json::sax_parse(text, &b); parse_json(text, "x");' >"$T/libsten/core/base/json.cpp"
sh "$check" "$T"
for text in 'Json::parse(in)' 'nlohmann::json::parse (text, nullptr, false)' 'Json::accept(text)'; do
  echo "$text" >"$T/apps/a.cpp"
  if sh "$check" "$T" >"$T/out"; then
    echo "json_parser.sh accepts $text" >&2
    exit 1
  fi
  grep -q '^apps/a.cpp:1:' "$T/out"
done
