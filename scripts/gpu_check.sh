#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All checks that need a GPU: builds, runs the device tests on the first CUDA device, with and without
# compute-sanitizer, trains, and measures.
#   scripts/gpu_check.sh [DIR [BIN]]     leaves gpu_check.json, gpu_check.md and logs in DIR (default build-gpu/report);
#                                        BIN: folder of sten_tests and the programs; nothing is built then
# Exit code 1 if anything failed, 77 without a device. Packages that cannot be installed are also searched in
# CMAKE_PREFIX_PATH. STEN_JOBS limits the parallel jobs, STEN_CASE_SECONDS (150) each process under a checker.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-build-gpu/report}
bin=${2-}
jobs=${STEN_JOBS:-$(nproc)}

if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L | grep -q GPU; then
  echo "gpu_check: no CUDA device found (nvidia-smi)" >&2
  exit 77
fi
mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -f "$out"/*.json "$out"/*.md "$out"/*.log "$out"/*.tsv

failed=0
# step NAME SECONDS COMMAND...: runs COMMAND for at most SECONDS, with its output in NAME.log.
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

make() {
  CXX=g++ CMAKE_GENERATOR=Ninja cmake -B build-gpu -DCMAKE_BUILD_TYPE=Release -DSTEN_TESTS=ON \
    -DSTEN_UNITY=ON -DCMAKE_CUDA_ARCHITECTURES=native &&
    cmake --build build-gpu -j "$jobs" --target sten_tests sten-bench sten-prune sten-train
}
if [[ -z $bin ]]; then
  bin=build-gpu/bin
  command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
  command -v nvcc >/dev/null || {
    echo "gpu_check: nvcc is missing: install the CUDA toolkit" >&2
    exit 1
  }
  export -f make
  export jobs
  step packages 120 scripts/setup.sh test
  failed=0 # the build reports missing packages
  step build 600 bash -euo pipefail -c make
fi
[[ -x $bin/sten_tests ]] || { echo "gpu_check: $bin/sten_tests is missing" >&2; exit 1; }
bin=$(cd "$bin" && pwd)
export bin out

# The usual device tests, on the CUDA device instead of the serial stand-in.
# cases NAME SECONDS FILES EACH [COMMAND...]: EACH limits the seconds of one process. The longest cases of the
# previous step run first.
cases() {
  local name=$1 limit=$2 files=$3 each=$4
  shift 4
  step "$name" "$limit" python3 -B scripts/run_test_cases.py "$bin/sten_tests" "$files" "$jobs" "$each" "$@"
  export STEN_CASE_TIMES=$out/$name.log
}
export STEN_TEST_DEVICE=cuda
cases tests 200 '*tests/device/*,*tests/kernels/*block*,*tests/kernels/nmg_*' 100
if command -v compute-sanitizer >/dev/null; then
  export STEN_TEST_SHORT=1
  for tool in memcheck initcheck racecheck; do
    check=(compute-sanitizer --tool "$tool" --print-limit 3 --error-exitcode 9)
    # Kernels of libraries have many shared arrays and would take long: racecheck covers only ours.
    if [[ $tool == racecheck ]]; then check+=(--kernel-regex kns=run_kernel); fi
    # In one process, initcheck takes memory that an earlier case wrote as initialized.
    unset STEN_CASES_ALONE
    if [[ $tool == initcheck ]]; then export STEN_CASES_ALONE=1; fi
    cases "$tool" 400 '*tests/device/*' "${STEN_CASE_SECONDS:-150}" "${check[@]}"
  done
  unset STEN_TEST_SHORT
else
  echo "== compute-sanitizer is missing: memory and races are not checked"
  printf 'compute-sanitizer\t127\t0\n' >>"$out/steps.tsv"
fi
unset STEN_TEST_DEVICE

same_file() {
  local work model=recipes/models/shakespeare-bert/model.safetensors
  work=$(mktemp -d)
  for device in cpu cuda; do
    "$bin/sten-prune" "$model" -o "$work/$device.safetensors" --structure nmg:n=1,m=10,g=4 \
      --to nmg --device "$device" --strict >"$work/$device.txt"
  done
  cmp "$work/cpu.safetensors" "$work/cuda.safetensors" && diff "$work/cpu.txt" "$work/cuda.txt"
  rm -rf "$work"
}
# Trains the shipped BERT for 500 steps: the losses match docs/figures.md within 0.01.
trains() {
  local work run
  work=$(mktemp -d)
  for run in dense dense,tf32 dense,bfloat16 one-shot one-shot,nmg:n=1,m=4,g=4; do
    IFS=, read -r recipe how <<<"$run"
    set --
    case $how in
      nmg*) set -- --set "sparsity.0.sparsifier=$how" --set "sparsity.0.layout=$how" ;;
      ?*) set -- --set "device_products=$how" ;;
    esac
    "$bin/sten-train" "recipes/shakespeare-bert-$recipe.json" --out "$work/$run" --device cuda --threads 1 -q "$@"
    python3 - "$run" "$work/$run/summary.json" <<'PY'
import json, sys
of = json.load(open(sys.argv[2]))
loss = of["test"]["loss"]
there = 1.272 if sys.argv[1].startswith("dense") else 1.604 if "nmg" in sys.argv[1] else 1.419
print(f"{sys.argv[1]}: loss {loss:.4f}, on the CPU {there}, {of['seconds']:.1f} s")
assert abs(loss - there) <= 0.01
PY
  done
  rm -rf "$work"
}
export -f same_file trains
step programs 60 bash -euo pipefail -c same_file
step training 100 bash -euo pipefail -c trains

# measure NAME ARGUMENT...: runs sten-bench with the arguments, with the results in NAME.json.
measure() {
  local name=$1
  shift
  step "$name" 120 "$bin/sten-bench" --device cuda --progress never "$@" -o "$out/$name.json" --force
}
some=(--layouts nmg:n=2,m=4,g=16 --layouts nmg:n=1,m=4,g=16 --layouts nmg:n=1,m=10,g=4 --layouts nmg:n=1,m=20,g=2)
# 85 million weights.
measure convert convert --shape 9216x9216 "${some[@]}" --layouts nm:n=2,m=4 --layouts bitmask:sparsity=0.9 --repeats 15
measure gemm gemm --shape 768x3072x4096 --shape 4096x4096x4096 "${some[@]}" --layouts csr:sparsity=0.9 --repeats 25
measure linear gemm --form linear --form transposed --form sampled --shape 3072x768x4096 --shape 768x3072x4096 \
  "${some[@]}" --layouts csr:sparsity=0.9 --layouts masked:sparsity=0.9 --repeats 15
measure bert-step step --shape 2x768x30522 --layouts masked:sparsity=0.9 --layouts nmg:n=1,m=4,g=4 \
  --layouts nmg:n=1,m=10,g=4 --layouts nmg:n=1,m=20,g=2 --repeats 15
measure rounded-step step --shape 2x768x30522 --layouts masked:sparsity=0.9 --precision tf32 --precision bf16 --repeats 15
measure wide-step step --shape 4x1024x2000 --layouts nmg:n=1,m=10,g=4 --layouts nmg:n=1,m=20,g=2 --repeats 15
measure small-step step --shape 4x160x70 --layouts masked:sparsity=0.9 --layouts nmg:n=1,m=4,g=4 --repeats 25
measure wrn-step step --shape wrn-16-8 --layouts masked:sparsity=0.9 --layouts nmg:n=1,m=4,g=4 --repeats 9
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
  torch_step() {
    for optimizer in fused foreach; do
      python3 -B scripts/bench/torch_step.py 2x768x30522 8 128 --optimizer "$optimizer"
    done
    python3 -B scripts/bench/torch_step.py 4x160x70 32 128
  }
  export -f torch_step
  step torch 120 bash -euo pipefail -c torch_step
fi

python3 - "$out" "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)" <<'PY'
import json, pathlib, sys

out, device = pathlib.Path(sys.argv[1]), sys.argv[2]
steps = [line.split("\t") for line in (out / "steps.tsv").read_text().splitlines()]
names = ("convert", "gemm", "linear", "bert-step", "rounded-step", "wide-step", "small-step", "wrn-step")
benches = [json.loads((out / f"{n}.json").read_text()) for n in names if (out / f"{n}.json").exists()]
torch = [line for line in (out / "torch.log").read_text().splitlines() if line.startswith("{")] \
    if (out / "torch.log").exists() else []
report = {"schema": 1, "device": device,
          "steps": [{"step": n, "status": int(s), "seconds": int(t)} for n, s, t in steps],
          "results": [row for b in benches for row in b["results"]],
          "torch": [json.loads(line) for line in torch]}
(out / "gpu_check.json").write_text(json.dumps(report, indent=1) + "\n")
text = [f"# GPU check: {device}", "", "Report of `scripts/gpu_check.sh`.", "", "## Steps", "",
        "| step | status | seconds |", "|---|---|---|"]
text += [f"| {n} | {'passed' if s == '0' else 'failed with ' + s} | {t} |" for n, s, t in steps]
text += ["", "## Tests"]
for name in ("tests", "memcheck", "initcheck", "racecheck"):
    log = out / f"{name}.log"
    cases = [l.split("\t") for l in log.read_text(errors="replace").splitlines() if l.count("\t") == 2] if log.exists() else []
    if cases:
        bad = [c[2] + (" (out of time)" if c[0] == "124" else "") for c in cases if c[0] != "0"]
        text += ["", f"{name}: {len(cases)} cases, {len(cases) - len(bad)} passed" + (" but for" if bad else "")]
        text += [""] * bool(bad) + [f"- {b}" for b in bad]
if (out / "training.log").exists():
    text += ["", "## Training", ""]
    text += [f"- {l}" for l in (out / "training.log").read_text().splitlines() if ": loss " in l]
number = lambda v: f"{v:.3g}" if isinstance(v, float) else str(v) if v is not None else ""
def cells(row):
    shape = "x".join(map(str, row["shape"])) if isinstance(row["shape"], list) else row["shape"]
    precision = row.get("precision") or "float32"
    layout = row["layout"] if precision == "float32" else f"{row['layout']}, {precision}"
    return [row["form"] or "", shape, layout, row["library"] or ""]
def table(bench, title, ratio, rates, clock):
    keys = ["ms"] + rates + ["ratio", "ratio_low", "ratio_high"]
    names = {"gflops": "GFLOP/s", "input_gb_per_s": "GB/s", "ratio_low": "low", "ratio_high": "high"}
    lines = ["", f"## {title}", "", f"`sten-bench --device cuda {bench}`. Ratio: to {ratio}; above 1 is faster. "
             f"Times are medians by the {clock} clock.", "",
             "| " + " | ".join(["form", "shape", "layout", "library"] + [names.get(k, k) for k in keys]) + " |",
             "|" + "---|" * (4 + len(keys))]
    return lines + ["| " + " | ".join(cells(r) + [number(r.get(k)) for k in keys]) + " |"
                    for r in report["results"] if r["bench"] == bench]
text += table("convert", "Conversion", "a copy of the input on the device", ["input_gb_per_s"], "device's")
text += table("gemm", "Products", "the dense product", ["gflops"], "device's")
text += table("step", "Training steps", "the dense step", [], "host's")
for row in report["torch"]:
    text.append(f"| dense, {row['optimizer']} | {row['shape']} {row['batch']}x{row['window']} | dense | "
                f"{row['library']} | {row['ms']} | | | |")
(out / "gpu_check.md").write_text("\n".join(text) + "\n")
PY
echo
cat "$out/gpu_check.md"
echo "gpu_check: $SECONDS s in all; $out/gpu_check.json, gpu_check.md"
exit "$failed"
