#include "libsten/bench/model.h"

#include <algorithm>
#include <map>

#include "libsten/base/kept_memory.h"
#include "libsten/base/parallel.h"
#include "libsten/base/text.h"
#include "libsten/bench/bert.h"
#include "libsten/bench/image_model.h"
#include "libsten/bench/imported.h"
#include "libsten/graph/executor.h"
#include "libsten/graph/fastest_layouts.h"
#include "libsten/graph/inference.h"
#include "libsten/nn/weights.h"

namespace sten {
namespace {

using Times = std::map<std::string, std::vector<double>>;  // seconds of each pass, by operator

// Passes in which operators run one by one, to be timed: those of the forward pass may run several
// as one step.
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
  Model(const Graph& g, NamedValues<Tensor> values, int threads)
      : graph_(g),
        values_(std::move(values)),
        threads_(threads),
        executor_(g, named(g.weights(), [](const Weight& w) { return w.name; })) {
    keep_more_memory();
    inputs_ = named(g.inputs(), [](const std::string& name) { return name; });
    for (const Node& n : g.nodes())
      for (const std::string& name : n.inputs) ++uses_[name];
  }

  void run() { executor_.run(inputs_); }

  // One node after the other, each timed.
  void run_operators() {
    NamedValues<Tensor> values = values_;
    auto uses = uses_;
    std::map<std::string, double> spent;
    for (const Node& n : graph_.nodes()) {
      std::optional<Tensor> out;
      spent[std::string(n.op.text())] += seconds_of(
          [&] {
            std::vector<Tensor> in;
            for (const std::string& name : n.inputs) in.push_back(values.find(name)->second);
            out = apply(n.op, in, n.attributes);
            for (const std::string& name : n.inputs)
              if (--uses[name] == 0) values.erase(name);
          },
          threads_);
      values.emplace(n.name, *std::move(out));
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
  std::map<std::string, int, std::less<>> uses_;
  int threads_;
  Executor executor_;
};

std::vector<BenchRow> measure(const BenchGraph& model, const std::vector<BenchLayout>& layouts,
                              int threads, const BenchOptions& o,
                              std::vector<std::string>* notes = nullptr) {
  set_threads(threads);
  const Graph& g = model.graph;
  const NamedValues<Tensor>& stored = model.values;
  NamedValues<Tensor> values = stored;
  for (auto& [name, x] : values) x = x.to_dense();
  std::vector<Model> models;
  models.emplace_back(g, values, threads);
  for (const BenchLayout& layout : layouts) {
    if (layout.name == stored_layout) {
      models.emplace_back(g, stored, threads);
      continue;
    }
    if (layout.name == fastest_layout) {
      NamedValues<Tensor> fastest = values;
      std::map<std::string, Index> counts;
      LayoutTimes times;  // measured each time
      for (auto& [name, w] : in_fastest_layouts(g, values, model.sparse, times).weights) {
        ++counts[w.spec().str()];
        fastest.find(name)->second = std::move(w);
      }
      std::string text;
      for (const auto& [chosen, count] : counts)
        text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", count, chosen);
      if (notes) notes->push_back(fmt::format("auto: weights {}", text));
      models.emplace_back(g, std::move(fastest), threads);
      continue;
    }
    NamedValues<Tensor> sparse = values;
    std::size_t dense = 0;
    std::string why;
    for (const std::string& name : model.sparse) try {
        sparse.find(name)->second =
            layout.convert(layout.prepare(values.find(name)->second.as<Dense>()));
      } catch (const Error& e) {
        if (!notes) throw;
        if (dense++ == 0) why = fmt::format("{}: {}", quote(name), e.what());
      }
    if (dense == model.sparse.size() && !model.sparse.empty()) fail_usage("{}", why);
    if (dense > 0)
      notes->push_back(fmt::format("{}: {} of {} weights stay dense: {}", layout.name, dense,
                                   model.sparse.size(), why));
    models.emplace_back(g, std::move(sparse), threads);
  }
  std::vector<std::function<void()>> ways;
  for (Model& m : models) ways.push_back([&m] { m.run(); });
  const auto seconds = take_turns(ways, {.repeats = o.repeats, .threads = threads});
  const std::size_t passes = 1 + std::min(seconds[0].size(), most_operator_passes);
  for (std::size_t pass = 0; pass < passes; ++pass)
    for (Model& m : models) m.run_operators();
  std::vector<BenchRow> rows;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const auto add = [&](const std::string& form, const std::vector<double>& dense,
                         const std::vector<double>& taken) {
      BenchRow& row = rows.emplace_back();
      row.bench = "model";
      row.form = form;
      row.model = model.name;
      row.shape = model.shape;
      row.layout = i == 0 ? "dense" : layouts[i - 1].name;
      row.threads = threads;
      row.seconds = median(taken);
      row.ratio = speedup(dense, taken);
      row.repeats = static_cast<int>(taken.size());
    };
    add("forward", seconds[0], seconds[i]);
    // Without the first pass, which does not count.
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
                                   int threads, const BenchOptions& o) {
  const Graph g = encoder(model.config);
  NamedValues<Tensor> stored =
      o.weights.empty() ? initial_weights(g, o.seed)
                        : load_weights(g, Checkpoint::open(o.weights), outside_encoder());
  for (auto& [name, x] : bert_inputs(model.ids(o.seed))) stored.emplace(name, x);
  return measure({g, std::move(stored), encoder_weights(g), model.shape()}, layouts, threads, o);
}

std::vector<BenchRow> measure_images(const BenchImages& model,
                                     const std::vector<BenchLayout>& layouts, int threads,
                                     const BenchOptions& o, std::vector<std::string>& notes) {
  const Graph g = inference_graph(model.graph);
  NamedValues<Tensor> values = initial_weights(g, o.seed);
  values.emplace("x", model.images(o.seed));
  return measure({g, std::move(values), convolution_weights(g), model.shape, model.name}, layouts,
                 threads, o, &notes);
}

}  // namespace

std::vector<BenchRow> bench_model(const BenchOptions& o, std::vector<std::string>& notes) {
  if (o.model.empty()) {
    BenchOptions berts = o;
    const std::vector<BenchImages> images = take_images(berts);
    std::vector<BenchRow> rows = bench_each_bert(berts, measure_bert);
    for (const BenchImages& model : images)
      for (const int threads : o.threads)
        for (BenchRow& row : measure_images(model, sparse_layouts(o), threads, o, notes))
          rows.push_back(std::move(row));
    return rows;
  }
  const BenchGraph model = imported_graph(o, notes);
  const std::vector<BenchLayout> layouts = sparse_layouts(o);
  std::vector<BenchRow> rows;
  for (const int threads : o.threads)
    for (BenchRow& row : measure(model, layouts, threads, o, &notes))
      rows.push_back(std::move(row));
  return rows;
}

}  // namespace sten
