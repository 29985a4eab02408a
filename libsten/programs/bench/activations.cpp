// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/activations.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/core/base/memory_pool.h"
#include "libsten/core/sparsify/same_pattern.h"
#include "libsten/model/graph/sparsity_builder.h"
#include "libsten/model/nn/mlp.h"
#include "libsten/programs/bench/bench_layout.h"
#include "libsten/programs/bench/input.h"
#include "libsten/training/optim/adamw.h"

namespace sten {
namespace {

constexpr Index usual_rows = 4096;
constexpr const char *hidden = "layers.0", *active = "layers.0.relu", *out = "layers.1";

// The layout of activations, and their share of zeros.
struct Activation {
  BenchLayout layout;
  double sparsity;

  explicit Activation(const std::string& text) : layout(BenchLayout::parse(text)) {
    if (!layout.pruned || !writes_rows(Name(layout.layout.name())))
      fail_usage("--activations {}: operators have no sparse output in {}", text,
                 layout.layout.name());
    sparsity = layout.pruned->number("sparsity");
  }
};

// The quantile of N(0, 1).
double quantile(double share) {
  double low = -10, high = 10;
  for (int i = 0; i < 60; ++i) {
    const double x = (low + high) / 2;
    (std::erfc(-x / std::numbers::sqrt2) / 2 < share ? low : high) = x;
  }
  return low;
}

Graph graph_of(const Shape& sizes, const Activation* sparse) {
  GraphParts parts = mlp({sizes[1], sizes[2], sizes[3]}, "relu").parts();
  parts.inputs.emplace_back("y");
  parts.nodes.push_back({"loss", "mse", {out, "y"}});
  parts.outputs = {"loss", active};
  Graph g(std::move(parts));
  if (!sparse) return g;
  const Spec& layout = sparse->layout.layout;
  const OutFormat positions = OutFormat::fused(SamePattern{}, layout);
  SparsityBuilder sb;
  sb.set_interm(hidden, OutFormat::fused(Relu{}, layout))
      .set_interm(active, OutFormat::fused(KeepAll{}, layout))
      .set_interm_grad(hidden, OutFormat::fused(KeepAll{}, layout))
      .set_interm_grad(active, positions);
  return sb.sparse_graph(g);
}

class Training {
 public:
  // sizes: rows, in, hidden, out.
  Training(const Shape& sizes, double sparsity, const Activation* sparse, std::uint64_t seed)
      : graph_(graph_of(sizes, sparse)),
        inputs_{{"x", bench_input("normal", {sizes[0], sizes[1]}, seed)},
                {"y", bench_input("normal", {sizes[0], sizes[3]}, seed + 1)}} {
    NamedValues<Tensor> weights = initial_weights(graph_, seed + 2);
    // The share of N(0, |w|) that a bias keeps positive.
    const Dense w = weights.at(std::string(hidden) + ".weight").to_dense();
    Dense b = Dense::zeros(DType::F32, {sizes[2]});
    const float* from = w.values.as<float>().data();
    for (Index j = 0; j < sizes[2]; ++j) {
      double square = 0;
      for (Index i = 0; i < sizes[1]; ++i) square += std::pow(from[j * sizes[1] + i], 2);
      b.values.mutate<float>()[j] = static_cast<float>(-quantile(sparsity) * std::sqrt(square));
    }
    weights.insert_or_assign(std::string(hidden) + ".bias", b);
    for (auto& [name, value] : weights) parameters_.emplace(name, Parameter(name, value));
    forward();
  }

  void step() {
    Tape tape;
    NamedValues<Var> weights, inputs;
    std::vector<Parameter*> parameters;
    for (auto& [name, p] : parameters_) {
      weights.emplace(name, tape.parameter(p.value));
      parameters.push_back(&p);
    }
    for (const auto& [name, x] : inputs_) inputs.emplace(name, x);
    const Var loss = graph_.run(weights, inputs).at("loss");
    weights.clear();
    std::vector<std::optional<Tensor>> gradients(parameters.size());
    tape.backward(loss, Dense::of({}, {1.0F}),
                  [&](std::size_t i, Tensor g) { gradients[i] = std::move(g); });
    for (std::size_t i = 0; i < gradients.size(); ++i) adamw_.step(*parameters[i], *gradients[i]);
  }
  // Runs the second layer on the initial activations.
  void linear() const {
    sten::linear(*active_, parameters_.at(std::string(out) + ".weight").value,
                 parameters_.at(std::string(out) + ".bias").value);
  }
  // The share of zero activations.
  double zeros() {
    forward();
    const Dense x = active_->to_dense();
    return static_cast<double>(std::ranges::count(x.values.as<float>(), 0.0F)) /
           static_cast<double>(x.size());
  }

 private:
  void forward() {
    NamedValues<Tensor> weights;
    for (const auto& [name, p] : parameters_) weights.emplace(name, p.value);
    active_ = graph_.run<Tensor>(weights, inputs_).at(active);
  }

  Graph graph_;
  NamedValues<Tensor> inputs_;
  std::map<std::string, Parameter> parameters_;
  std::optional<Tensor> active_;
  AdamW adamw_{{.rate = 1e-6}};  // keeps the share of zeros
};

std::vector<BenchRow> measure(const Shape& sizes, const std::vector<Activation>& all, int threads,
                              const BenchOptions& o, std::vector<std::string>& notes) {
  set_threads(threads);
  enlarge_memory_pool();
  struct Variant {
    std::string form, layout;
    std::size_t baseline;
    std::function<void()> run;
  };
  std::vector<std::unique_ptr<Training>> trained;
  std::vector<Variant> variants;
  const auto add = [&](const char* form, const std::string& layout, double sparsity,
                       const Activation* sparse) -> Training& {
    Training& t =
        *trained.emplace_back(std::make_unique<Training>(sizes, sparsity, sparse, o.seed));
    variants.push_back({form, layout, 0, [&t] { t.step(); }});
    variants.push_back({"linear", layout, 1, [&t] { t.linear(); }});
    return t;
  };
  // The time of a dense step does not depend on zeros.
  add("dense", "dense", all.front().sparsity, nullptr);
  std::vector<Training*> sparse;
  for (const Activation& a : all)
    sparse.push_back(&add("activations", a.layout.name, a.sparsity, &a));
  std::vector<std::function<void()>> work;
  for (const Variant& w : variants) work.push_back(w.run);
  const auto seconds = time_interleaved(work, {.repeats = o.repeats, .threads = threads});
  std::vector<BenchRow> rows;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    BenchRow& row = rows.emplace_back();
    row.bench = "step";
    row.form = variants[i].form;
    row.shape = sizes;
    row.layout = variants[i].layout;
    row.threads = threads;
    row.seconds = median(seconds[i]);
    row.ratio = speedup(seconds[variants[i].baseline], seconds[i]);
    row.repeats = static_cast<int>(seconds[i].size());
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    notes.push_back(fmt::format("{}: {:.1f} % of {} hidden activations are 0", all[i].layout.name,
                                100 * sparse[i]->zeros(), sizes[0] * sizes[2]));
  return rows;
}

}  // namespace

std::vector<BenchRow> bench_activations(const BenchOptions& o, std::vector<std::string>& notes) {
  std::vector<Activation> all;
  for (const std::string& text : o.activations) all.emplace_back(text);
  std::vector<BenchRow> rows;
  for (const std::string& text : o.shapes)
    for (const int threads : o.threads) {
      Shape sizes = parse_bench_shape(text, 3);
      sizes.insert(sizes.begin(), o.batch.value_or(usual_rows));
      for (BenchRow& row : measure(sizes, all, threads, o, notes)) rows.push_back(std::move(row));
    }
  return rows;
}

}  // namespace sten
