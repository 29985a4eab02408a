#include "libsten/run/calibrated/layer_source.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "libsten/base/error.h"
#include "libsten/base/text.h"
#include "libsten/calibrate/matrix.h"
#include "libsten/linalg/dense_gemm.h"
#include "libsten/run/calibrated/model_walk.h"
#include "libsten/run/calibrated/statistics_file.h"
#include "libsten/run/model/run_data.h"

namespace sten {
namespace {

using Weights = std::vector<CalibratedWeight>;

class FromFile final : public LayerSource {
 public:
  FromFile(const std::string& path, const Weights& weights) : file_(path) {
    for (const CalibratedWeight& w : weights) {
      file_.check(*w.tensor, w.how);
      how_.emplace(w.tensor->name, w.how);
    }
  }
  CalibratedLayer prune(const CheckpointTensor& t, const Dense& x) override {
    const CalibratedOptions& how = how_.at(t.name);
    CalibratedLayer layer = prune_layer(x, file_.read(t, how), how);
    file_.drop(t);
    return layer;
  }

 private:
  StatisticsFile file_;
  std::map<std::string, CalibratedOptions> how_;
};

// So many rows at a time, which bounds what operators need beside values.
constexpr Index rows_at_once = 16;

// Weights alone are of the model of the recipe that names the data.
void describe_by_data(const PruneOptions& o, ModelSource& source) {
  if (source.what.is_known()) return;
  if (o.calibrate.ends_with(".json")) source.what = describe_model(o.calibrate);
  if (!source.what.is_known())
    fail_usage(
        "{}: holds weights, and does not say what computes with them; --calibrate takes a recipe "
        "that does, or give the model's directory",
        source.name);
}

class FromModel final : public LayerSource {
 public:
  FromModel(const PruneOptions& o, const Weights& weights,
            const std::function<Dense(const TensorInfo&)>& load) {
    if (o.input == "-") fail_usage("--calibrate runs the model, which standard input cannot be");
    std::optional<UseDenseLibrary>
        products;  // always the same, so that all runs have the same bits
    if (const DenseLibrary* blas = find_dense_library("OpenBLAS")) products.emplace(*blas);
    ModelSource source = find_model(o.input);
    describe_by_data(o, source);
    RunOptions run;
    run.data = o.calibrate;
    Recipe recipe = data_recipe(source, run);
    const Index samples = o.calibrate_samples.value_or(usual_calibration);
    recipe.batch = std::min(samples, rows_at_once);
    recipe.accumulate = 1;
    recipe.data.crop_padding = 0;
    recipe.data.mirror = false;
    const Task task = task_of(source, recipe);
    const RunnableModel model = read_model(source, task);
    walk(o, task, model, weights, load);
  }

  CalibratedLayer prune(const CheckpointTensor& t, const Dense&) override {
    const auto it = layers_.find(t.name);
    CalibratedLayer layer = std::move(it->second);
    layers_.erase(it);
    return layer;
  }
  std::vector<std::string> notes() const override { return {note_}; }

 private:
  void walk(const PruneOptions& o, const Task& task, const RunnableModel& model,
            const Weights& weights, const std::function<Dense(const TensorInfo&)>& load) {
    std::map<std::string, const CalibratedWeight*, std::less<>> wanted;  // by name in the graph
    for (const Weight& w : model.graph.weights())
      for (const CalibratedWeight& c : weights)
        if (c.tensor->name == w.name || std::ranges::count(w.aliases, c.tensor->name))
          wanted.emplace(w.name, &c);
    const bool with_gram =
        std::ranges::any_of(weights, [](const auto& w) { return needs_gram(w.how); });
    const auto start = std::chrono::steady_clock::now();
    std::vector<NamedValues<Tensor>> batches;
    Index rows = 0;
    for (Index step = 0; rows < o.calibrate_samples.value_or(usual_calibration); ++step)
      for (const BatchPart& part : task.batch(step)) {
        NamedValues<Tensor>& batch = batches.emplace_back();
        for (const std::string& name : model.graph.inputs())
          batch.emplace(name, part.inputs.at(name));
        rows += task.recipe().batch;
      }
    const WalkResult result = prune_along(
        model.graph, model.weights, batches,
        [&](const std::string& name) { return wanted.contains(name); }, with_gram,
        [&](const std::string& name, const InputStatistics& inputs) {
          const CalibratedWeight& w = *wanted.at(name);
          CalibratedLayer layer = [&] {
            try {
              return prune_layer(load(*w.tensor), inputs, w.how);
            } catch (const Error& e) {
              throw Error(e.fault(), fmt::format("{}: {}", quote(w.tensor->name), e.what()));
            }
          }();
          Tensor next = as_graph_has_it(layer.weights, w.how.transposed);
          layers_.emplace(w.tensor->name, std::move(layer));
          return next;
        });
    for (const CalibratedWeight& w : weights)
      if (!layers_.contains(w.tensor->name))
        fail_usage(
            "{} is not the weight of a linear layer of the model, and cannot be calibrated; "
            "--exclude leaves it as it is",
            quote(w.tensor->name));
    note_ = fmt::format(
        "calibrated on {} rows of {} ({} positions) in {:.1f} s, with up to {} of values", rows,
        printable(o.calibrate), result.positions,
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
        human_bytes(static_cast<std::uint64_t>(result.most_bytes)));
  }

  // [out, in], in float32.
  static Tensor as_graph_has_it(const Dense& w, bool transposed) {
    calibrate::Matrix a = calibrate::matrix_of(w);
    if (transposed) a = calibrate::transposed(a);
    return calibrate::to_dense(a, DType::F32, {a.rows, a.cols});
  }

  std::map<std::string, CalibratedLayer> layers_;
  std::string note_;
};

}  // namespace

std::unique_ptr<LayerSource> layer_source(const PruneOptions& o,
                                          std::vector<CalibratedWeight> weights,
                                          const std::function<Dense(const TensorInfo&)>& load) {
  if (!o.statistics.empty()) return std::make_unique<FromFile>(o.statistics, weights);
  return std::make_unique<FromModel>(o, weights, load);
}

}  // namespace sten
