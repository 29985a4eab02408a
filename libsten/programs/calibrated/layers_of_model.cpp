// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/calibrated/layers_of_model.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "libsten/compute/calibrate/matrix.h"
#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/model/graph/node_errors.h"
#include "libsten/programs/calibrated/calibration_cache.h"
#include "libsten/programs/calibrated/model_reorder.h"
#include "libsten/programs/calibrated/weight_allocation.h"
#include "libsten/report/progress.h"
#include "libsten/training/trainer/calibrated_layers.h"
#include "libsten/training/trainer/loss_of_changes.h"
#include "libsten/training/trainer/model_walk.h"

namespace sten {
namespace {

// The weight as the graph has it: [out, in], float32.
Tensor as_graph_has_it(const Dense& w, bool transposed) {
  auto a = calibrate::matrix_of<float>(w);
  if (transposed) a = calibrate::transposed(a);
  return calibrate::to_dense(a, DType::F32, {a.rows, a.cols});
}

class LayersOfModel final : public LayerSource {
 public:
  explicit LayersOfModel(const CalibrationRequest& r) {
    if (r.input == "-") fail_usage("--calibrate: expected a model, got standard input");
    std::optional<UseDenseLibrary> products;  // fixed, so that all runs have the same bits
    if (const DenseLibrary* blas = find_dense_library("OpenBLAS")) products.emplace(*blas);
    ModelSource source = find_model(r.input);
    const Task task = task_of(source, calibration_recipe(r.options, source), true);
    ModelWeights model(task);
    try {
      with_model_file([&] { return source.name; }, [&] { walk(r, task, model); });
    } catch (const std::bad_alloc&) {
      fail(
          "{}: out of memory in calibration: expected room for the largest block "
          "(--calibration-cache keeps activations on disk)",
          source.name);
    }
  }

  CalibratedLayer prune(const CheckpointTensor& t, const Dense&) override {
    return layers().read(t);
  }
  void finish() override {
    if (cache_) cache_->clear();
  }
  std::vector<std::string> notes() const override { return notes_; }

 private:
  // Gets the name in the graph.
  using PruneLayer = std::function<Dense(const std::string& name, const CalibratedWeight&,
                                         const Dense&, const InputStatistics&)>;

  void walk(const CalibrationRequest& r, const Task& task, ModelWeights& model) {
    const auto start = std::chrono::steady_clock::now();
    for (const Weight& w : model.graph().weights())
      for (const CalibratedWeight& c : r.weights)
        if (c.tensor->name == w.name || std::ranges::count(w.aliases, c.tensor->name))
          wanted_.emplace(w.name, &c);
    check_layers(r, model.graph());
    WeightAllocation allocation(r.options.allocate, r.sparsity);
    const CalibrationBatches batches(task, model.graph(), r.options.rows(),
                                     allocation.needs_loss());
    check_calibration_inputs(task.recipe(), batches.inputs, r.options.data);
    reorder_model(model, r.in, r.reordering, batches.inputs.front());
    allocate(r, task, model, batches, allocation);
    std::optional<ActivationsInMemory> in_memory;
    if (r.options.cache.empty()) {
      in_memory.emplace(batches.inputs.size());
      own_layers_.emplace();
    } else {
      cache_.emplace(r.options.cache, identity_of(r, model.graph(), batches.inputs),
                     batches.inputs.size());
    }
    const std::size_t done = layers().records().size();
    if (done > 0)
      notes_.push_back(fmt::format("continued the calibration of {} after {} of {} layers",
                                   printable(r.options.cache), done, wanted_.size()));
    Progress progress("calibrate", wanted_.size(), r.show_progress, "layers");
    progress.add(done);
    ActivationStore& store = cache_ ? static_cast<ActivationStore&>(*cache_) : *in_memory;
    const WalkResult result = prune_layers(
        r, model, batches.inputs, store, computes_values(r), computes_values(r),
        [&](const std::string&, const CalibratedWeight& w, const Dense& x,
            const InputStatistics& inputs) {
          CalibratedLayer layer = prune_layer(x, inputs, options_of(allocation.of(w), inputs));
          layers().add(w.tensor->name, layer, sten::computes_values(w.how));
          progress.add(1);
          return std::move(layer.weights);
        });
    // All layers are in the cache from here on.
    if (cache_) cache_->advance(WalkPoint{model.graph().nodes().size(), 0, result.positions});
    add_notes(r, batches.rows, result, std::chrono::steady_clock::now() - start);
  }

  static bool computes_values(const CalibrationRequest& r) {
    return std::ranges::any_of(r.weights,
                               [](const auto& w) { return sten::computes_values(w.how); });
  }

  // The inputs of the dense model's layers decide the allocation.
  void allocate(const CalibrationRequest& r, const Task& task, ModelWeights& model,
                const CalibrationBatches& batches, WeightAllocation& allocation) {
    if (!allocation.is_wanted()) return;
    std::optional<LossOfChanges> losses;
    if (allocation.needs_loss())
      losses.emplace(model.source(), batches.parts, task.evaluation_graph().inputs().back());
    const double dense_loss = losses ? losses->unchanged() : 0;
    ActivationsInMemory store(batches.inputs.size());
    prune_layers(
        r, model, batches.inputs, store, computes_values(r) || allocation.needs_gram(), false,
        [&](const std::string& name, const CalibratedWeight& w, const Dense& x,
            const InputStatistics& inputs) {
          double more = 0;
          if (losses) {
            const Dense pruned = prune_layer(x, inputs, w.how).weights;
            more = losses->with(name, as_graph_has_it(pruned, w.how.transposed)) - dense_loss;
          }
          allocation.add(w, x, inputs, more);
          return x;
        });
    allocation.settle();
  }

  WalkResult prune_layers(const CalibrationRequest& r, ModelWeights& model,
                          const CalibrationInputs& batches, ActivationStore& store, bool with_gram,
                          bool with_targets, const PruneLayer& prune) {
    const StreamedModel::Source source = model.source();
    return prune_along(
        {source.graph, batches, store, source.weight,
         [&](const std::string& name) { return wanted_.contains(name); }, with_gram, with_targets,
         [&](const std::string& name, const InputStatistics& inputs) {
           const CalibratedWeight& w = *wanted_.find(name)->second;
           try {
             Tensor next =
                 as_graph_has_it(prune(name, w, r.load(*w.tensor), inputs), w.how.transposed);
             r.in.drop(*w.tensor);
             return next;
           } catch (const Error& e) {
             throw Error(e.fault(), fmt::format("{}: {}", quote(w.tensor->name), e.what()));
           }
         },
         source.released});
  }

  // Without tokens, an expert's inputs say nothing.
  CalibratedOptions options_of(CalibratedOptions how, const InputStatistics& inputs) {
    if (inputs.samples > 0) return how;
    ++without_tokens_;
    return without_inputs(std::move(how));
  }

  LayerFile& layers() { return cache_ ? cache_->layers() : *own_layers_; }

  void add_notes(const CalibrationRequest& r, Index rows, const WalkResult& result,
                 std::chrono::duration<double> time) {
    notes_.push_back(fmt::format(
        "calibrated on {} rows of {} ({} positions) in {:.1f} s, with up to {} of values{}", rows,
        printable(r.options.data), result.positions, time.count(),
        human_bytes(static_cast<std::uint64_t>(result.most_bytes)),
        result.is_rounded ? " in bfloat16" : ""));
    if (without_tokens_ > 0)
      notes_.push_back(
          fmt::format("{} weights of experts got no tokens: pruned by magnitude", without_tokens_));
  }

  // Error that names all weights that are not of a layer that can be calibrated.
  void check_layers(const CalibrationRequest& r, const Graph& g) const {
    std::set<const CalibratedWeight*> found;
    for (const LayerToCalibrate& layer :
         layers_to_calibrate(g, [&](const std::string& name) { return wanted_.contains(name); }))
      found.insert(wanted_.find(g.weights()[layer.weight - g.first_weight()].name)->second);
    std::string others;
    Index count = 0;
    for (const CalibratedWeight& w : r.weights)
      if (!found.contains(&w)) others += (count++ == 0 ? "" : ", ") + quote(w.tensor->name);
    if (count == 1)
      fail_usage("{} cannot be calibrated: expected the weight of a linear layer (or --exclude)",
                 others);
    if (count > 1)
      fail_usage(
          "{} tensors cannot be calibrated: expected weights of linear layers (or --exclude): {}",
          count, others);
  }

  std::map<std::string, const CalibratedWeight*, std::less<>> wanted_;  // by name in the graph
  std::optional<CalibrationCache> cache_;                               // or
  std::optional<LayerFile> own_layers_;
  Index without_tokens_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace

std::unique_ptr<LayerSource> layers_of_model(const CalibrationRequest& request) {
  return std::make_unique<LayersOfModel>(request);
}

}  // namespace sten
