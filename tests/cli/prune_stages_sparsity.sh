# SPDX-License-Identifier: Apache-2.0
# The reported sparsity of a stage is that of the trained model; {sparsity} is that of the masks.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

# The input has four zeros. Two of them are pruned, and training changes the other two.
safetensors in.safetensors "{$(entry a.weight F32 1,8 0 32)}" "$F0$F0$F0$F0$F1$F2$F3$F4"
cat >train.py <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
open(sys.argv[2], "wb").write(data[:-32] + struct.pack("<8f", *range(1, 9)))
print(sys.argv[3], file=open("log", "a"))
END
expect_exit 0 sten-prune in.safetensors -o out.safetensors --schedule linear:from=0,to=0.25,stages=1 --state run \
  --finetune "python3 train.py {in} {out} {sparsity}"
[ "$(awk '$1 == 1 { print $2 }' out)" = 25.00 ] || fail 'expected sparsity 25.00 for stage 1'
expect_out 'sparsity 25.00 % over 1 tensors after 1 of 1 stages'
expect_out 'changed 2 pruned positions'
[ "$(cat log)" = 0.25 ] || fail "expected {sparsity} to be 0.25, got $(cat log)"
[ "$(data out.safetensors | od -An -tf4 -w32 | tr -s ' ')" = ' 1 2 0 0 5 6 7 8' ] || fail 'expected weights 1 2 0 0 5 6 7 8'
