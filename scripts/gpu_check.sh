#!/usr/bin/env bash
# Everything that takes a GPU, from a fresh checkout in under 8 minutes: builds, runs the tests of
# devices on the first CUDA device, some of them under compute-sanitizer, and the benchmarks.
#   scripts/gpu_check.sh [DIR]     leaves gpu_check.json, gpu_check.md and logs there (default
#                                  build-gpu/report)
# Ends with 1 where anything failed, 77 where there is no device. Packages that cannot be installed
# may also be where CMAKE_PREFIX_PATH says.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-build-gpu/report}
build=build-gpu
jobs=${STEN_JOBS:-$(nproc)}

if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L | grep -q GPU; then
  echo "gpu_check: no CUDA device answers (nvidia-smi)" >&2
  exit 77
fi
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || {
  echo "gpu_check: nvcc is missing: install the CUDA toolkit" >&2
  exit 1
}
mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -f "$out"/*.json "$out"/*.md "$out"/*.log "$out"/steps.tsv

failed=0
# step NAME SECONDS COMMAND...: at most so long; its output goes to NAME.log.
step() {
  local name=$1 limit=$2 status=0 begin=$SECONDS
  shift 2
  echo "== $name"
  timeout "$limit" "$@" >"$out/$name.log" 2>&1 || status=$?
  local took=$((SECONDS - begin))
  printf '%s\t%d\t%d\n' "$name" "$status" "$took" >>"$out/steps.tsv"
  if [[ $status -eq 0 ]]; then
    echo "   passed, $took s"
  else
    echo "   FAILED with $status after $took s; the end of $out/$name.log:"
    tail -n 20 "$out/$name.log"
    failed=1
  fi
}

step packages 120 scripts/setup.sh test
failed=0 # the build says what is missing

make() {
  CXX=g++ CMAKE_GENERATOR=Ninja cmake -B "$build" -DCMAKE_BUILD_TYPE=Release -DSTEN_TESTS=ON \
    -DSTEN_UNITY=ON -DCMAKE_CUDA_ARCHITECTURES=native &&
    cmake --build "$build" -j "$jobs" --target sten_tests sten-bench sten-prune sten-convert sten-energy
}
export -f make
export build jobs
step build 300 bash -euo pipefail -c make
[[ -x $build/bin/sten_tests ]] || { echo "gpu_check: nothing was built" >&2; exit 1; }

# The same tests as everywhere, with the device in place of its stand-in.
export STEN_TEST_DEVICE=cuda
tests=("$build/bin/sten_tests" --no-intro)
step tests 120 "${tests[@]}" '--source-file=*tests/device/*,*tests/kernels/*block*,*tests/kernels/*products*,*tests/kernels/nmg_*'
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck; do
    step "$tool" 100 compute-sanitizer --tool "$tool" --error-exitcode 9 --kernel-regex kns=run_kernel \
      "${tests[@]}" '--test-case=a CUDA device does what its stand-in does'
  done
else
  echo "== compute-sanitizer is not there: memory and races are not checked"
  printf 'compute-sanitizer\t127\t0\n' >>"$out/steps.tsv"
fi
unset STEN_TEST_DEVICE

model=recipes/models/shakespeare-bert/model.safetensors
same_file() {
  local work
  work=$(mktemp -d)
  for device in cpu cuda; do
    "$build/bin/sten-prune" "$model" -o "$work/$device.safetensors" --structure nmg:n=1,m=10,g=4 \
      --to nmg --device "$device" --strict >"$work/$device.txt"
  done
  cmp "$work/cpu.safetensors" "$work/cuda.safetensors" && diff "$work/cpu.txt" "$work/cuda.txt"
  rm -rf "$work"
}
export -f same_file
export model
step programs 60 bash -euo pipefail -c same_file

bench=("$build/bin/sten-bench" --device cuda --progress never)
# 85 million weights.
step convert 90 "${bench[@]}" convert --shape 9216x9216 --layouts nmg:n=1,m=4,g=16 \
  --layouts nmg:n=2,m=4,g=16 --layouts nmg:n=1,m=10,g=4 --layouts nmg:n=1,m=20,g=2 \
  --layouts nm:n=2,m=4 --layouts bitmask:sparsity=0.9 --repeats 15 -o "$out/convert.json" --force
step gemm 90 "${bench[@]}" gemm --shape 768x3072x4096 --shape 4096x4096x4096 \
  --layouts nmg:n=2,m=4,g=16 --layouts nmg:n=1,m=4,g=16 --layouts nmg:n=1,m=10,g=4 \
  --layouts nmg:n=1,m=20,g=2 --layouts csr:sparsity=0.9 --repeats 25 \
  -o "$out/gemm.json" --force
step linear 90 "${bench[@]}" gemm --form linear --form transposed --form sampled \
  --shape 3072x768x4096 --shape 768x3072x4096 --layouts nmg:n=2,m=4,g=16 --layouts nmg:n=1,m=4,g=16 \
  --layouts nmg:n=1,m=10,g=4 --layouts nmg:n=1,m=20,g=2 --layouts csr:sparsity=0.9 \
  --layouts masked:sparsity=0.9 --repeats 25 -o "$out/linear.json" --force

python3 - "$out" "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)" <<'PY'
import json, pathlib, sys

out, device = pathlib.Path(sys.argv[1]), sys.argv[2]
steps = [line.split("\t") for line in (out / "steps.tsv").read_text().splitlines()]
benches = {n: json.loads((out / f"{n}.json").read_text()) for n in ("convert", "gemm", "linear")
           if (out / f"{n}.json").exists()}
report = {"schema": 1, "device": device,
          "steps": [{"step": n, "status": int(s), "seconds": int(t)} for n, s, t in steps],
          "results": [row for b in benches.values() for row in b["results"]]}
(out / "gpu_check.json").write_text(json.dumps(report, indent=1) + "\n")
text = [f"# GPU check: {device}", "", "| step | status | seconds |", "|---|---|---|"]
text += [f"| {n} | {'passed' if s == '0' else 'failed with ' + s} | {t} |" for n, s, t in steps]
text += ["", "| bench | form | shape | layout | library | ms | GFLOP/s | GB/s | ratio | low | high |",
         "|---|---|---|---|---|---|---|---|---|---|---|"]
number = lambda v: f"{v:.3g}" if isinstance(v, float) else str(v) if v is not None else ""
for row in report["results"]:
    shape = "x".join(map(str, row["shape"])) if isinstance(row["shape"], list) else row["shape"]
    keys = ("ms", "gflops", "input_gb_per_s", "ratio", "ratio_low", "ratio_high")
    text.append("| " + " | ".join([row["bench"], row["form"] or "", shape, row["layout"], row["library"] or ""]
                                  + [number(row[k]) for k in keys]) + " |")
text += ["", "Ratios: convert to a copy of the input on the device, products to the dense one there;",
         "above 1 is faster. Times are medians by the device's clock."]
(out / "gpu_check.md").write_text("\n".join(text) + "\n")
PY
echo
cat "$out/gpu_check.md"
echo "gpu_check: $SECONDS s in all; $out/gpu_check.json, gpu_check.md"
exit "$failed"
