// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "libsten/core/base/memory_pool.h"
#include "libsten/core/base/parallel.h"
#include "libsten/model/execution/executor.h"
#include "libsten/model/execution/fastest_layouts.h"
#include "libsten/model/fusion/fused_graph.h"
#include "libsten/model/graph/inference.h"
#include "libsten/model/nn/weights.h"
#include "libsten/programs/bench/bert.h"
#include "libsten/programs/bench/image_model.h"
#include "libsten/programs/bench/imported.h"
#include "libsten/programs/bench/model_weights.h"
#include "libsten/programs/bench/precision.h"

namespace sten {
namespace {

using Times = std::map<std::string, std::vector<double>>;  // seconds per pass, by operator

// Passes that time operators one by one; the forward pass can fuse several operators into a step.
constexpr std::size_t most_operator_passes = 3;

// The graph up to the last layer of the encoder.
Graph encoder(const BertConfig& config) {
  GraphParts parts = bert(config).parts();
  const auto end =
      std::ranges::find_if(parts.nodes, [](const Node& n) { return !n.name.starts_with("bert."); });
  parts.nodes.erase(end, parts.nodes.end());
  std::erase_if(parts.weights, [](const Weight& w) { return !w.name.starts_with("bert."); });
  parts.outputs = {parts.nodes.back().name};
  return Graph(std::move(parts));
}

class Model {
 public:
  Model(const Graph& g, NamedValues<Tensor> values, int threads, LayoutOfRows layout,
        Precision precision = Precision::float32)
      : graph_(g),
        values_(std::move(values)),
        threads_(threads),
        layout_(std::move(layout)),
        precision_(precision),
        executor_(g, named(g.weights(), [](const Weight& w) { return w.name; }),
                  {.precision = {{"*", precision}}}) {
    enlarge_memory_pool();
    inputs_ = named(g.inputs(), [](const std::string& name) { return name; });
  }

  void run() { executor_.run(inputs_); }

  const LayoutOfRows& layout() const { return layout_; }
  bool is_float32() const { return precision_ == Precision::float32; }
  // The model with weights and other values in bfloat16.
  Model in_bf16() const { return Model(graph_, values_, threads_, layout_, Precision::bf16); }
  // The error of outputs compared with float32 and the same weights: the largest difference divided
  // by the largest element.
  double error() {
    NamedValues<Tensor> wanted;
    {
      Model exact(graph_, values_, threads_, layout_);
      wanted = exact.executor_.run(exact.inputs_);
    }
    double off = 0, largest = 0;
    for (const auto& [name, output] : executor_.run(inputs_)) {
      const Dense is = output.to_dense(), was = wanted.find(name)->second.to_dense();
      if (is.dtype() != DType::F32) continue;
      const auto a = is.values.as<float>(), b = was.values.as<float>();
      for (std::size_t i = 0; i < a.size(); ++i) {
        const double difference = double{a[i]} - double{b[i]};
        off = std::isnan(difference) ? INFINITY : std::max(off, std::abs(difference));
        largest = std::max(largest, std::abs(double{b[i]}));
      }
    }
    return largest > 0 ? off / largest : off;
  }

  // Runs and times each node.
  void run_operators() {
    std::vector<std::optional<Tensor>> values(graph_.value_count());  // by number
    std::size_t first = 0;
    const auto take = [&](const std::string& name) {
      values[first++] = values_.find(name)->second;
    };
    for (const std::string& name : graph_.inputs()) take(name);
    for (const Weight& w : graph_.weights()) take(w.name);
    for (const Constant& c : graph_.constants()) take(c.name);
    std::map<std::string, double> spent;
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& n = graph_.nodes()[i];
      spent[std::string(n.op.text())] += seconds_of(
          [&] {
            std::vector<Tensor> in;
            for (const std::size_t x : graph_.arguments(i)) in.push_back(*values[x]);
            values[first + i] = apply(n.op, in, n.attributes);
            for (const std::size_t x : graph_.last_uses(i)) values[x].reset();
          },
          threads_);
    }
    for (const auto& [op, seconds] : spent) times[op].push_back(seconds);
  }

  Times times;

 private:
  template <class All, class F>
  NamedValues<Tensor> named(const All& all, F&& name_of) const {
    NamedValues<Tensor> out;
    for (const auto& x : all) {
      const std::string& name = name_of(x);
      out.emplace(name, values_.find(name)->second);
    }
    return out;
  }

  const Graph& graph_;
  NamedValues<Tensor> values_;  // weights and inputs
  NamedValues<Tensor> inputs_;
  int threads_;
  LayoutOfRows layout_;
  Precision precision_;
  Executor executor_;
};

std::vector<BenchRow> measure(const BenchGraph& model, const std::vector<BenchLayout>& layouts,
                              int threads, const BenchOptions& o, std::vector<std::string>& notes) {
  std::vector<std::string> unused;
  const AskedPrecisions precisions(o.precisions, unused);
  set_threads(threads);
  const Graph& g = model.graph;
  const NamedValues<Tensor>& stored = model.values;
  NamedValues<Tensor> values = stored;
  for (auto& [name, x] : values) x = x.to_dense();
  // The share of a file's zeros in all weights that can be sparse.
  const auto of_file = [&](const std::string& name, const NamedValues<Tensor>& weights) {
    return layout_of_rows(model, name, BenchZeros::file, weights, model.sparse, notes);
  };
  std::vector<Model> models;
  models.emplace_back(g, values, threads, of_file("dense", values));
  if (precisions.has_dense(DType::BF16)) models.push_back(models.front().in_bf16());
  const auto add_model = [&](const BenchLayout& layout, NamedValues<Tensor> weights,
                             LayoutOfRows about) {
    Model made(g, std::move(weights), threads, std::move(about));
    const bool is_low = precisions.has(DType::BF16, layout.layout);
    if (is_low) models.push_back(made.in_bf16());
    if (precisions.has(DType::F32, layout.layout)) models.push_back(std::move(made));
  };
  for (const BenchLayout& layout : layouts) {
    if (layout.name == stored_layout) {
      add_model(layout, stored, of_file(layout.name, stored));
      continue;
    }
    if (layout.name == fastest_layout) {
      for (const Precision p : {Precision::bf16, Precision::float32}) {
        if (!precisions.has(p == Precision::bf16 ? DType::BF16 : DType::F32, layout.layout))
          continue;
        NamedValues<Tensor> fastest = values;
        std::map<std::string, Index> counts;
        LayoutTimes times;  // measured again each time
        for (auto& [name, w] :
             in_fastest_layouts(g, values, model.sparse, times, {{"*", p}}).weights) {
          ++counts[w.spec().str()];
          fastest.find(name)->second = std::move(w);
        }
        std::string text;
        for (const auto& [chosen, count] : counts)
          text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", count, chosen);
        notes.push_back(
            fmt::format("auto{}: weights {}", p == Precision::bf16 ? " in bf16" : "", text));
        LayoutOfRows about = of_file(layout.name, fastest);
        models.emplace_back(g, std::move(fastest), threads, std::move(about), p);
      }
      continue;
    }
    NamedValues<Tensor> sparse = values;
    const std::vector<std::string> names = put_into_layout(layout, model, sparse, notes);
    LayoutOfRows about = layout_of_rows(model, layout.name, layout.zeros, sparse, names, notes);
    add_model(layout, std::move(sparse), std::move(about));
  }
  std::vector<std::function<void()>> variants;
  for (Model& m : models) variants.push_back([&m] { m.run(); });
  const auto seconds = time_interleaved(variants, {.repeats = o.repeats, .threads = threads});
  const std::size_t passes = 1 + std::min(seconds[0].size(), most_operator_passes);
  for (std::size_t pass = 0; pass < passes; ++pass)
    for (Model& m : models)
      if (m.is_float32()) m.run_operators();
  std::vector<BenchRow> rows;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const auto add = [&](const std::string& form, const std::vector<double>& dense,
                         const std::vector<double>& taken) {
      BenchRow& row = rows.emplace_back();
      row.bench = "model";
      row.form = form;
      row.model = model.name;
      row.shape = model.shape;
      row.layout = models[i].layout().name;
      row.zeros = models[i].layout().zeros;
      row.sparsity = models[i].layout().sparsity;
      row.ignored_zeros = models[i].layout().ignored_zeros;
      if (!models[i].is_float32()) row.precision = "bf16";
      row.threads = threads;
      row.seconds = median(taken);
      row.ratio = speedup(dense, taken);
      row.repeats = static_cast<int>(taken.size());
    };
    add("forward", seconds[0], seconds[i]);
    if (!models[i].is_float32()) {
      rows.back().error = models[i].error();
      if (!models[1].is_float32() && models[1].layout().name == "dense")
        rows.back().to_own = speedup(seconds[1], seconds[i]).median;
      continue;
    }
    // Without the warm-up.
    const auto counted = [](const std::vector<double>& all) {
      return std::vector<double>(all.begin() + 1, all.end());
    };
    std::vector<std::string> ops;
    for (const auto& [op, all] : models[i].times) ops.push_back(op);
    std::ranges::sort(ops, std::greater<>(), [&](const std::string& op) {
      return median(counted(models[0].times.at(op)));
    });
    for (const std::string& op : ops)
      add(op, counted(models[0].times.at(op)), counted(models[i].times.at(op)));
  }
  return rows;
}

std::vector<BenchRow> measure_bert(const BenchBert& model, const std::vector<BenchLayout>& layouts,
                                   int threads, const BenchOptions& o,
                                   std::vector<std::string>& notes) {
  const Graph g = encoder(model.config);
  NamedValues<Tensor> stored =
      o.weights.empty() ? initial_weights(g, o.seed)
                        : load_weights(g, Checkpoint::open(o.weights), outside_encoder());
  for (auto& [name, x] : bert_inputs(model.ids(o.seed))) stored.emplace(name, x);
  return measure({g, std::move(stored), encoder_weights(g), model.shape(), "", o.weights}, layouts,
                 threads, o, notes);
}

std::vector<BenchRow> measure_images(const BenchImages& model,
                                     const std::vector<BenchLayout>& layouts, int threads,
                                     const BenchOptions& o, std::vector<std::string>& notes) {
  const GraphPort x{"x", DType::F32, std::vector<GraphPort::Extent>(4)};
  const Graph g = fused_graph(inference_graph(model.graph), {x});
  NamedValues<Tensor> values = initial_weights(g, o.seed);
  values.emplace("x", model.images(o.seed));
  return measure({g, std::move(values), convolution_weights(g), model.shape, model.name}, layouts,
                 threads, o, notes);
}

}  // namespace

std::vector<BenchRow> bench_model(const BenchOptions& o, std::vector<std::string>& notes) {
  const AskedPrecisions asked(o.precisions, notes);
  for (const DType p : asked.dense)
    if (p != DType::F32 && p != DType::BF16)
      fail_usage("--precision {}: expected float32 or bf16 for model", precision_name(p));
  std::vector<BenchRow> rows;
  if (o.model.empty()) {
    BenchOptions berts = o;
    const std::vector<BenchImages> images = take_images(berts);
    rows = bench_each_bert(
        berts, [&](const auto& bert, const auto& layouts, int threads, const BenchOptions& of) {
          return measure_bert(bert, layouts, threads, of, notes);
        });
    for (const BenchImages& model : images)
      for (const int threads : o.threads)
        for (BenchRow& row : measure_images(model, sparse_layouts(o), threads, o, notes))
          rows.push_back(std::move(row));
  } else {
    const BenchGraph model = imported_graph(o, notes);
    const std::vector<BenchLayout> layouts = sparse_layouts(o);
    for (const int threads : o.threads)
      for (BenchRow& row : measure(model, layouts, threads, o, notes))
        rows.push_back(std::move(row));
  }
  // Each measurement starts with the dense model in float32.
  std::vector<BenchRow> forward;
  const auto name = [&] {
    if (forward.empty()) return;
    const BenchRow& row = forward.front();
    notes.push_back(name_fastest(
        fmt::format("{}{}{}, {} thread{}", row.model, row.model.empty() ? "" : " ",
                    fmt::join(row.shape, "x"), row.threads, row.threads == 1 ? "" : "s"),
        forward));
    forward.clear();
  };
  for (const BenchRow& row : rows) {
    if (row.form != "forward") continue;
    if (row.layout == "dense" && row.precision == "float32") name();
    forward.push_back(row);
  }
  name();
  return rows;
}

}  // namespace sten
