# SPDX-License-Identifier: Apache-2.0
# sten-prune built without training support prunes like the full program.
. "$(dirname "$0")/_lib.sh"

cd "$T"
first=$STEN_BIN/../first/sten-prune
expect_exit 0 "$first" "$MODEL" -o got --structure nmg:n=1,m=10,g=4 --to nmg
mv out shown
expect_exit 0 sten-prune "$MODEL" -o wanted --structure nmg:n=1,m=10,g=4 --to nmg
cmp out shown || fail 'sten-prune without training support prints a different table'
cmp got wanted || fail 'sten-prune without training support writes different bytes'

expect_exit 2 "$first" "$MODEL" -o staged --schedule linear:from=0.1,to=0.5,stages=2 --finetune true \
  --state stages
expect_err '--schedule: this program was built without'
[ ! -e staged ] && [ ! -e stages ] || fail 'the rejected run left an output'
