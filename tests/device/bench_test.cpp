// SPDX-License-Identifier: Apache-2.0
// sten-bench --device cuda.
#include "libsten/programs/bench/bench.h"

#include <doctest/doctest.h>

#include "tests/device/serial_backend.h"
#include "tests/support/tensors.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

BenchOptions options(const char* bench, const char* shape) {
  BenchOptions o;
  o.bench = bench;
  o.device = {Device::cuda};
  o.shapes = {shape};
  o.layouts = {"nmg:n=1,m=4,g=4", "bitmask:sparsity=0.5"};
  o.repeats = 2;
  return o;
}

std::vector<std::string> column(Outcome& outcome, const char* key) {
  std::vector<std::string> all;
  for (auto& row : outcome.report.rows)
    all.push_back(std::get<std::string>(outcome.report.at(row, key)));
  return all;
}

}  // namespace

TEST_CASE("sten-bench convert on a device measures resident and copied conversions") {
  const SerialDevice device;
  const Warnings warnings;
  Outcome outcome = run_bench(options("convert", "32x64"));
  CHECK(column(outcome, "form") ==
        std::vector<std::string>{"resident", "copied", "resident", "copied", "resident", "copied"});
  CHECK(column(outcome, "isa") == std::vector<std::string>(6, "cuda"));
  CHECK(std::get<double>(outcome.report.at(outcome.report.rows[0], "ratio")) == 1);
  for (auto& row : outcome.report.rows)
    CHECK(std::get<double>(outcome.report.at(row, "input_gb_per_s")) > 0);
}

TEST_CASE("sten-bench gemm on a device compares a layout with the dense product") {
  const SerialDevice device;
  const Warnings warnings;
  BenchOptions o = options("gemm", "16x32x8");
  o.layouts = {"nmg:n=1,m=4,g=4"};
  Outcome outcome = run_bench(o);
  CHECK(column(outcome, "layout") == std::vector<std::string>{"dense", "nmg:n=1,m=4,g=4"});
  CHECK(std::get<double>(outcome.report.at(outcome.report.rows[0], "ratio")) == 1);
}

TEST_CASE("sten-bench gemm on a device measures all forms of products without a fallback") {
  const SerialDevice device;
  const Warnings warnings;
  BenchOptions o = options("gemm", "16x32x8");
  o.layouts = {"nmg:n=1,m=4,g=4", "csr:sparsity=0.5", "masked:sparsity=0.5"};
  o.forms = {"linear", "transposed", "sampled"};
  Outcome outcome = run_bench(o);
  CHECK(column(outcome, "form") == std::vector<std::string>{"linear", "linear", "linear", "linear",
                                                            "transposed", "transposed",
                                                            "transposed", "transposed", "sampled",
                                                            "sampled", "sampled", "sampled"});
  CHECK(warnings.all.empty());
}

TEST_CASE("sten-bench step on a device measures lower product precisions beside float32" *
          long_only()) {
  const SerialDevice device;
  const Warnings warnings;
  BenchOptions o = options("step", "1x64x20");
  o.batch = 1;
  o.window = 8;
  o.layouts = {"masked:sparsity=0.5"};
  o.precisions = {"bfloat16", "tf32"};
  Outcome outcome = run_bench(o);
  const std::vector<std::string> forms = {"dense", "masked", "refreshed", "sparse"};
  std::vector<std::string> all = {"dense"};
  for (int i = 0; i < 2; ++i) all.insert(all.end(), forms.begin(), forms.end());
  CHECK(column(outcome, "form") == all);
  CHECK(column(outcome, "precision") == std::vector<std::string>{"float32", "bf16", "bf16", "bf16",
                                                                 "bf16", "tf32", "tf32", "tf32",
                                                                 "tf32"});
  CHECK(warnings.all.empty());
}

TEST_CASE("sten-bench rejects benchmarks, forms and precisions that a device does not support") {
  BenchOptions o = options("dispatch", "2x64x70");
  CHECK(error_of([&] { run_bench(o); }) == "--device cuda belongs to gemm, convert and step");
  o = options("gemm", "16x32x8");
  o.forms = {"chain"};
  CHECK(fault_of([&] { run_bench(o); }) == Fault::usage);
  o = options("step", "1x64x20");
  o.precisions = {"int8"};
  CHECK(fault_of([&] { run_bench(o); }) == Fault::usage);
}
