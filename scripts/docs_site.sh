#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the documentation as a static site with search, and checks its links. Installs MkDocs and its theme from PyPI
# into .venv-site.
#   scripts/docs_site.sh [DIR]        DIR: output (default: site)
set -euo pipefail
out=$(realpath -m "${1:-$(dirname "$0")/../site}")
cd "$(dirname "$0")/.."
venv=.venv-site
if [[ ! -x $venv/bin/mkdocs ]]; then
  python3 -m venv $venv
  $venv/bin/pip install -q 'mkdocs-material==9.*'
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/pages"
cp scripts/site/mkdocs.yml "$work/mkdocs.yml"
python3 scripts/site/collect.py . "$work/pages" >>"$work/mkdocs.yml"
echo "docs_dir: pages" >>"$work/mkdocs.yml"
# Not -q, which would make mkdocs ignore warnings.
if ! NO_MKDOCS_2_WARNING=1 $venv/bin/mkdocs build --strict -f "$work/mkdocs.yml" -d "$out" >"$work/log" 2>&1; then
  grep -vE '^INFO|^  - ' "$work/log" >&2
  exit 1
fi
echo "docs_site.sh: $(find "$out" -name '*.html' | wc -l) pages in $out"
