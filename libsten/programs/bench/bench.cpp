// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/bench.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "kernels/isa.h"
#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/base/hints.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/processor.h"
#include "libsten/core/base/text.h"
#include "libsten/programs/bench/activations.h"
#include "libsten/programs/bench/against.h"
#include "libsten/programs/bench/allreduce.h"
#include "libsten/programs/bench/bert.h"
#include "libsten/programs/bench/convert.h"
#include "libsten/programs/bench/device.h"
#include "libsten/programs/bench/dispatch.h"
#include "libsten/programs/bench/gemm.h"
#include "libsten/programs/bench/model.h"
#include "libsten/programs/bench/precision.h"
#include "libsten/programs/bench/slower.h"
#include "libsten/programs/bench/step.h"
#include "libsten/training/comm/comm_self.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

constexpr double usual_slowdown = 1.1;

bool is_of_ranks(const BenchOptions& o) { return o.bench == "step" || o.bench == "allreduce"; }
// Whether times are the device's, instead of those of a host that waits for it.
bool has_device_clock(const BenchOptions& o) { return !o.device.is_cpu() && o.bench != "step"; }
bool is_of_bert(const BenchOptions& o) { return is_of_ranks(o) || o.bench == "model"; }

void check(const BenchOptions& o) {
  const std::vector<std::string> known{"gemm", "convert", "dispatch", "step", "model", "allreduce"};
  if (std::ranges::find(known, o.bench) == known.end())
    fail_usage("{}", unknown_name("BENCH", o.bench, known));
  if (!is_of_ranks(o) && o.ranks->size() > 1)
    fail_usage("{} runs in one process (step and allreduce run in several)", o.bench);
  if (!is_of_ranks(o) && o.transport != "float32")
    fail_usage("--transport belongs to step and allreduce");
  if (o.bench == "allreduce" && (o.batch || o.window))
    fail_usage("--{} belongs to step and model", o.batch ? "batch" : "window");
  if (!is_of_bert(o) && !o.configs.empty()) fail_usage("--config belongs to step and model");
  if (!is_of_bert(o) && o.batch) fail_usage("--batch belongs to step and model");
  if (!is_of_bert(o) && o.window) fail_usage("--window belongs to step and model");
  if (o.bench != "step" && o.refresh) fail_usage("--refresh belongs to step");
  if (o.bench != "step" && !o.activations.empty()) fail_usage("--activations belongs to step");
  if (!o.activations.empty()) {
    if (!o.layouts.empty() || !o.configs.empty() || o.window || o.refresh)
      fail_usage("--activations measures an MLP with dense weights and excludes --{}",
                 !o.layouts.empty()   ? "layouts"
                 : !o.configs.empty() ? "config"
                 : o.window           ? "window"
                                      : "refresh");
    if (o.ranks->size() > 1) fail_usage("--activations runs in one process");
  }
  if (o.bench != "model" && !o.weights.empty()) fail_usage("--weights belongs to model");
  if (o.bench != "model" && !o.model.empty()) fail_usage("--model belongs to model");
  if (!o.model.empty() && !(o.configs.empty() && o.shapes.empty() && o.weights.empty()))
    fail_usage("--model excludes --shape, --config and --weights");
  if (!o.weights.empty() && o.configs.size() + o.shapes.size() > 1)
    fail_usage("--weights needs at most one --config or --shape");
  if (o.bench != "gemm" && !o.forms.empty()) fail_usage("--form belongs to gemm");
  const bool is_device_step = o.bench == "step" && !o.device.is_cpu();
  if (o.bench != "gemm" && o.bench != "model" && !is_device_step && !o.precisions.empty())
    fail_usage("--precision belongs to gemm and model, and to step on a device");
  if (is_device_step)
    step_precisions(o.precisions);
  else
    for (const std::string& name : o.precisions) precision_from(name);
  if (o.bench != "convert" && !o.inputs.empty()) fail_usage("--input belongs to convert");
  if (!o.device.is_cpu() && o.bench != "gemm" && o.bench != "convert" && o.bench != "step")
    fail_usage("--device {} belongs to gemm, convert and step", o.device.str());
  if (!o.device.is_cpu() && !o.activations.empty())
    fail_usage("--activations belongs to --device cpu");
  if (!o.device.is_cpu() && o.ranks->size() > 1)
    fail_usage("--device {} runs in one process", o.device.str());
  if (!o.device.is_cpu() && o.bench != "step" && !o.precisions.empty())
    fail_usage("--precision belongs to --device cpu, except for step");
  for (const std::string& form : o.forms)
    if (!o.device.is_cpu() && form != "gemm" && form != "linear" && form != "transposed" &&
        form != "sampled")
      fail_usage("--form {} belongs to --device cpu", form);
  if (!o.device.is_cpu() && !o.threads.empty()) fail_usage("--threads belongs to --device cpu");
  if (o.fail_if_slower && !compares_with_dense(o.bench))
    fail_usage("--fail-if-slower belongs to gemm and model");
  if (o.max_slowdown && o.against.empty()) fail_usage("--max-slowdown belongs to --against");
  if (o.max_slowdown && !(*o.max_slowdown >= 1))
    fail_usage("--max-slowdown must be >= 1, got {}", *o.max_slowdown);
}

// The config beside the weights, as in Hugging Face directories.
std::string config_of(const std::string& weights) {
  std::error_code error;
  const fs::path path = weights;
  const fs::path folder = fs::is_directory(path, error) ? path : path.parent_path();
  if (!fs::exists(folder / "config.json", error))
    fail_usage("--weights {}: config.json not found beside the file (use --config)",
               quote(weights));
  return folder / "config.json";
}

BenchOptions with_defaults(BenchOptions o) {
  if (!o.weights.empty()) {
    if (o.configs.empty() && o.shapes.empty()) o.configs = {config_of(o.weights)};
    if (o.layouts.empty() && !stored_layouts(Checkpoint::open(o.weights)).empty())
      o.layouts = {stored_layout};
  }
  if (!o.activations.empty()) {
    if (o.shapes.empty()) o.shapes = {"768x3072x768"};
  } else if (is_of_bert(o)) {
    if (o.shapes.empty() && o.configs.empty() && o.model.empty())
      o.shapes = o.bench == "model" ? std::vector<std::string>{"bert-base"}
                                    : std::vector<std::string>{"2x768x30522", "4x160x70"};
    if (o.layouts.empty() && o.bench == "step") o.layouts = {"nmg:n=1,m=4,g=4"};
    if (o.layouts.empty() && o.bench == "allreduce")
      o.layouts = {"nmg:n=1,m=4,g=4", "csr:sparsity=0.75", "masked:sparsity=0.75"};
    if (o.layouts.empty() && (!o.model.empty() || !o.weights.empty()))
      o.layouts = {"nmg:n=2,m=4,g=4,sparsity=0.5", "nmg:n=1,m=4,g=4,sparsity=0.75",
                   "nmg:n=1,m=10,g=4,sparsity=0.9"};
    if (o.layouts.empty()) o.layouts = {"nmg:n=2,m=4,g=4", "nmg:n=1,m=4,g=4", "nmg:n=1,m=10,g=4"};
  } else if (o.shapes.empty()) {
    o.shapes = {o.bench == "dispatch" ? "768x3072x512" : "bert-ffn-out"};
  }
  if (o.inputs.empty()) o.inputs = {"normal"};
  if (o.forms.empty()) o.forms = {"gemm"};
  if (o.threads.empty()) o.threads = {1};
  if (o.layouts.empty() && o.bench == "dispatch") o.layouts = {"nmg:n=1,m=10,g=1"};
  if (o.layouts.empty() && o.bench == "gemm") o.layouts = {"csr:sparsity=0.9"};
  if (o.layouts.empty())
    o.layouts = {"nmg:n=2,m=4,g=16", "nmg:n=1,m=10,g=4", "nmg:n=3,m=6,g=16", "nmg:n=1,m=4,g=16",
                 "nmg:n=2,m=8,g=8"};
  return o;
}

// The machine and the measurement in reports.
struct Measurement {
  DensePeak best;
  std::vector<std::string> notes;
};

std::vector<BenchRow> measure(const BenchOptions& o, Measurement& m) {
  if (has_device_clock(o))
    return o.bench == "gemm" ? bench_device_gemm(o) : bench_device_convert(o);
  if (o.bench == "dispatch") return bench_dispatch(o);
  if (!o.activations.empty()) return bench_activations(o, m.notes);
  if (o.bench == "step") return bench_step(o);
  if (o.bench == "allreduce") return bench_allreduce(o);
  if (o.bench == "model") return bench_model(o, m.notes);
  return o.bench == "gemm" ? bench_gemm(o, m.best, m.notes) : bench_convert(o);
}

// The baseline of ratios.
std::string baseline_of(const BenchOptions& o) {
  if (has_device_clock(o))
    return o.bench == "gemm" ? "the dense product on the device"
                             : "a copy of the input on the device";
  if (o.bench == "dispatch") return "the bare product";
  if (o.bench == "gemm")
    return "the fastest dense product in float32 of the same form, shape and threads";
  if (o.bench == "convert") return "the paper's greedy with std::sort on one thread";
  if (o.bench == "allreduce") return "the sum of dense gradients";
  if (!o.activations.empty()) return "the same with dense activations";
  return o.bench == "step" ? "the dense step" : "the same row of the dense model";
}

// Measures one row of an earlier run.
std::optional<BenchRow> measure_row(BenchOptions o, const BenchRow& row) {
  if (!o.activations.empty()) {
    o.shapes = {fmt::format("{}", fmt::join(row.shape.begin() + 1, row.shape.end(), "x"))};
    if (row.layout != "dense") o.activations = {row.layout};
  }
  if (!is_of_bert(o)) o.shapes = {fmt::format("{}", fmt::join(row.shape, "x"))};
  if (!row.model.empty()) o.shapes = {row.model};
  o.layouts = {row.layout};
  if (o.bench == "gemm") o.forms = {row.form};
  o.inputs = {row.input};
  o.precisions = {row.precision};
  o.threads = {row.threads};
  Measurement unused;
  for (BenchRow& again : measure(o, unused))
    if (again.layout == row.layout && again.form == row.form && again.library.empty() &&
        again.precision == row.precision && again.shape == row.shape && again.model == row.model)
      return std::move(again);
  return std::nullopt;
}

// Sets the report's columns; returns the error of a row that became too slow.
std::optional<Error> compare(const Baseline& baseline, const BenchOptions& o,
                             std::vector<BenchRow>& rows, Report& report) {
  const double limit = o.max_slowdown.value_or(usual_slowdown);
  const auto slowdowns =
      baseline.compare(rows, limit, [&](const BenchRow& row) { return measure_row(o, row); });
  report = bench_report(rows);
  report.columns.push_back({"baseline_ratio", "before", Unit::measured});
  report.columns.push_back({"slowdown", "slowdown", Unit::measured});
  report.columns.push_back({"allowed", "allowed", Unit::measured});
  std::string first;
  Index compared = 0, slower = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    report.rows[i].resize(report.columns.size());
    if (!slowdowns[i]) continue;
    const Baseline::Slowdown& s = *slowdowns[i];
    ++compared;
    report.at(report.rows[i], "baseline_ratio") = s.baseline;
    report.at(report.rows[i], "slowdown") = s.times;
    report.at(report.rows[i], "allowed") = s.allowed;
    if (!s.is_alarm()) continue;
    if (slower++ == 0)
      first = fmt::format("{}: {:.2f} times slower than in {}, of {:.2f} allowed",
                          describe(rows[i]), s.times, printable(baseline.path()), s.allowed);
  }
  if (compared == 0) fail("{}: none of the measured rows found", printable(baseline.path()));
  report.notes.push_back(fmt::format("{} of {} rows compared with {}", compared, rows.size(),
                                     printable(baseline.path())));
  if (slower == 0) return std::nullopt;
  if (slower > 1) first += fmt::format("; {} more rows are slower too", slower - 1);
  return Error(Fault::check, first);
}

}  // namespace

Outcome run_bench(const BenchOptions& options) {
  BenchOptions given = options;
  if (!given.ranks) given.ranks = comm_self();
  check(given);
  const bool is_on_device = use_device(given.device) != Device::cpu;
  const BenchOptions o = with_defaults(given);
  const std::string cpu = cpu_name();
  const std::string isa = is_on_device ? device_text() : kernels::name_of(kernels::float32_isa());
  std::optional<Baseline> baseline;
  if (!o.against.empty()) baseline = Baseline::read(o.against, cpu, isa);

  Measurement measured;
  std::vector<BenchRow> rows = measure(o, measured);
  DensePeak& best = measured.best;
  if (o.bench != "gemm" && !is_on_device)
    best = measure_dense_peak(*std::max_element(o.threads.begin(), o.threads.end()));
  Outcome outcome{bench_report(rows), std::nullopt};
  if (baseline) outcome.failure = compare(*baseline, o, rows, outcome.report);
  Report& r = outcome.report;
  r.facts = {
      {"machine/cpu", cpu}, {"machine/isa", isa}, {"machine/threads", Index{available_threads()}}};
  if (!is_on_device)
    r.facts.insert(r.facts.end(), {{"peak_gflops", best.peak_gflops},
                                   {"dense/library", best.library},
                                   {"dense/gflops", best.gflops}});
  r.notes.push_back("ratio: to " + baseline_of(o) + ", above 1 is faster");
  if (o.bench == "dispatch") r.notes.push_back("call: an operator that does nothing");
  if (!o.activations.empty()) {
    r.notes.push_back("shape: rows, and features into, within and out of the two layers");
    r.notes.push_back("linear: the second layer alone, forward");
  } else if (o.bench == "allreduce") {
    r.notes.push_back("shape: layers and hidden size of the encoder whose gradients are summed");
    r.notes.push_back("bytes: that each rank gives; pack: the part of ms in which nothing travels");
  } else if (is_of_bert(o) && o.model.empty()) {
    const auto is_of_images = [](const BenchRow& row) { return !row.model.empty(); };
    if (!std::ranges::all_of(rows, is_of_images))
      r.notes.push_back("shape: layers, hidden size, sequences and tokens of each");
    if (std::ranges::any_of(rows, is_of_images))
      r.notes.push_back("shape of a model by name: depth, width, images and pixels a side");
  }
  if (!o.model.empty() || !o.weights.empty())
    r.notes.push_back("zeros: those of the file, or of weights that were pruned before");
  std::ranges::copy(measured.notes, std::back_inserter(r.notes));
  if (std::ranges::count(o.layouts, stored_layout)) {
    std::string text;
    for (const auto& [layout, n] : stored_layouts(Checkpoint::open(o.weights))) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, layout);
      r.facts.emplace_back("stored/" + layout, n);
    }
    r.notes.push_back(fmt::format("stored: layouts of the tensors in {}: {}", printable(o.weights),
                                  text.empty() ? "all dense" : text));
  }
  if (is_on_device) {
    r.notes.push_back(o.bench == "step"
                          ? "times by the host's clock, which waits for the device after each step"
                          : "times by the device's clock, inputs in turn beyond its caches");
    if (o.bench == "convert")
      r.notes.push_back("resident: on the device before and after; copied: with both copies");
    r.notes.push_back(isa);
  }
  if (!is_on_device)
    r.notes.push_back(fmt::format("{}, {}; dense by {} reaches {:.1f} of {:.1f} GFLOP/s peak", cpu,
                                  isa, best.library, best.gflops, best.peak_gflops));
  if (!is_on_device)
    outcome.details.push_back("this process multiplies dense matrices by " + dense_library().name);
  r.charts = {ratio_chart(rows)};
  r.figures = bench_figures(rows);
  const std::string slower = add_slower(o, rows, r);
  if (o.fail_if_slower && !slower.empty() && !outcome.failure)
    outcome.failure = Error(Fault::check, slower);
  return outcome;
}

}  // namespace sten
