# sten-bench model: the latency of a BERT's encoder, dense and with its weights in layouts, and of its operators.
. "$(dirname "$0")/_lib.sh"
cd "$T"

model=$STEN_SOURCE/recipes/models/shakespeare-bert
expect_exit 0 sten-bench model --config "$model/config.json" --weights "$MODEL" --batch 1 --window 16 \
  --layouts nmg:n=1,m=4,g=4 --layouts csr:sparsity=0.5 --repeats 2 --json
[ "$(grep -c '"form": "forward"' out)" = 3 ] || fail 'there are not 3 forward passes'
for op in add attention embedding gelu layer-norm linear; do
  [ "$(grep -c "\"form\": \"$op\"" out)" = 3 ] || fail "$op is not there for each layout"
done
[ "$(grep -c '"ratio": [0-9]' out)" = 21 ] || fail 'something has no ratio'
expect_exit 0 sten-bench model --shape 1x32x40 --batch 1 --window 8 --layouts dense --repeats 1
expect_out ' 1x32x1x8 '
sed 's/"hidden_size": [0-9]*/"hidden_size": 32000000/' "$model/config.json" >vast.json
expect_exit 1 sten-bench model --config vast.json
expect_one_line_err
expect_err 'GB, and there are'
expect_exit 1 sten-bench model --config "$model/config.json" --weights missing.safetensors
expect_err 'missing.safetensors'
