#include "libsten/programs/calibrated/layers_of_model.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "libsten/compute/calibrate/matrix.h"
#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/hash.h"
#include "libsten/core/base/memory_pool.h"
#include "libsten/core/base/text.h"
#include "libsten/data/tokenizer/tokenizer.h"
#include "libsten/model/graph/graph_json.h"
#include "libsten/model/graph/node_errors.h"
#include "libsten/programs/calibrated/calibration_cache.h"
#include "libsten/programs/calibrated/model_reorder.h"
#include "libsten/programs/calibrated/weight_allocation.h"
#include "libsten/programs/run/run_data.h"
#include "libsten/report/progress.h"
#include "libsten/training/trainer/calibrated_layers.h"
#include "libsten/training/trainer/model_walk.h"

namespace sten {
namespace {

using Batches = std::vector<NamedValues<Tensor>>;

// The most rows and positions of a batch; they bound the scratch memory of operators.
constexpr Index rows_at_once = 16, positions_at_once = 2048;

// The largest batch that divides the number of samples.
Index rows_of_batch(const Recipe& recipe, Index samples) {
  const bool has_windows = recipe.data.kind == "text" || recipe.data.kind == "masked-text";
  const Index most =
      has_windows ? positions_at_once / std::max<Index>(1, recipe.data.window) : rows_at_once;
  Index rows = std::clamp<Index>(most, 1, std::min(samples, rows_at_once));
  while (samples % rows != 0) --rows;
  return rows;
}

// The recipe that names the data describes the model of a weights-only checkpoint.
void describe_by_data(const std::string& data, ModelSource& source) {
  if (source.what.is_known()) return;
  if (data.ends_with(".json")) source.what = describe_model(data);
  if (!source.what.is_known())
    fail_usage(
        "{}: expected a model, got only weights (name the model's directory, or a recipe with "
        "--calibrate)",
        source.name);
}

Recipe recipe_of(const CalibrationOptions& options, const ModelSource& source) {
  Recipe recipe = data_recipe(source, {.path = options.data});
  if (options.window) {
    if (recipe.data.kind != "text" && recipe.data.kind != "masked-text")
      fail_usage("--calibrate-window: expected a text as --calibrate, got {}", recipe.data.kind);
    recipe.data.window = *options.window;
  }
  recipe.batch = rows_of_batch(recipe, options.rows());
  recipe.accumulate = 1;
  recipe.data.crop_padding = 0;
  recipe.data.mirror = false;
  recipe.data.has_labels = options.allocate == AllocationMethod::sensitivity;
  return recipe;
}

// The weight as the graph has it: [out, in], float32.
Tensor as_graph_has_it(const Dense& w, bool transposed) {
  auto a = calibrate::matrix_of<float>(w);
  if (transposed) a = calibrate::transposed(a);
  return calibrate::to_dense(a, DType::F32, {a.rows, a.cols});
}

// Mean loss over the predictions of all batches.
double loss_on(const Task& task, const std::vector<BatchPart>& parts,
               const NamedValues<Tensor>& weights) {
  const Graph& g = task.evaluation_graph();
  PredictionSums sums;
  for (const BatchPart& part : parts) {
    NamedValues<Tensor> inputs;
    for (const std::string& name : g.inputs()) inputs.emplace(name, part.inputs.at(name));
    const Tensor logits = g.run<Tensor>(weights, inputs).at(g.outputs().front());
    sums += predictions_of(logits.as<Dense>(), part.inputs.at(g.inputs().back()).as<Dense>());
  }
  return sums.measured().loss;
}

// The batches of a task that calibration uses.
struct CalibrationBatches {
  Batches inputs;
  std::vector<BatchPart> parts;  // with labels, if losses are measured
  Index rows = 0;

  CalibrationBatches(const Task& task, const Graph& graph, Index samples, bool with_loss) {
    // With fewer rows than samples, each row is used once.
    for (Index step = 0; rows < samples && step < task.steps_per_epoch(); ++step)
      for (BatchPart& part : task.batch(step)) {
        NamedValues<Tensor>& batch = inputs.emplace_back();
        for (const std::string& name : graph.inputs()) batch.emplace(name, part.inputs.at(name));
        rows += rows_of(part);
        if (with_loss) parts.push_back(std::move(part));
      }
  }
};

// Error if most tokens of a text are unknown to its tokenizer: their statistics say nothing.
void check_known(const Recipe& recipe, const Batches& batches) {
  const std::string& text = recipe.data.text;
  if (text.empty() || recipe.data.vocabulary.empty()) return;
  const std::optional<TokenId> unknown = read_tokenizer(recipe.data.vocabulary)->special_ids().unk;
  if (!unknown) return;
  Index count = 0, all = 0;
  for (const NamedValues<Tensor>& batch : batches) {
    const auto ids = batch.find("input_ids");
    if (ids == batch.end()) return;
    const Dense dense = ids->second.to_dense();
    all += dense.size();
    count += std::ranges::count(dense.values.as<std::int64_t>(), *unknown);
  }
  if (2 * count > all)
    fail("{}: expected a text of known tokens: {:.0f} % are unknown to {}", printable(text),
         100.0 * static_cast<double>(count) / static_cast<double>(all),
         printable(recipe.data.vocabulary));
}

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

CalibrationIdentity identity_of(const CalibrationRequest& r, const Graph& graph,
                                const Batches& batches) {
  constexpr std::size_t most_bytes = std::size_t{1} << 16;  // of an entry, to be fast
  std::uint64_t model = hash_of_text(to_json(graph)), data = 0;
  const auto add_text = [](std::uint64_t& hash, const std::string& text) {
    hash = hash_bytes(hash, std::as_bytes(std::span(text)));
  };
  for (const CheckpointTensor& t : r.in.tensors()) {
    add_text(model, fmt::format("{} {} {}", t.name, name_of(t.dtype), to_string(t.shape)));
    for (const SafetensorsEntry& e : t.entries) {
      const std::span<const std::byte> bytes = r.in.bytes(t, e);
      model = hash_bytes(model, bytes.first(std::min(most_bytes, bytes.size())));
    }
    r.in.drop(t);
  }
  for (const NamedValues<Tensor>& batch : batches)
    for (const auto& [name, x] : batch) {
      const Dense dense = x.to_dense();
      add_text(data, fmt::format("{} {}", name, to_string(dense.extents)));
      data = hash_bytes(data, std::span(dense.values.bytes().data(), dense.values.bytes().size()));
    }
  std::string options = fmt::format(
      "{} {}", r.sparsity, r.options.allocate ? name_of(*r.options.allocate) : std::string("none"));
  for (const CalibratedWeight& w : r.weights)
    options +=
        fmt::format("\n{} {} {} {} {} {} {}", w.tensor->name, w.how.method, w.how.structure.str(),
                    w.how.by_row, w.how.transposed, w.how.reconstruct, w.how.damping);
  return {hash_text(model), hash_text(data), hash_text(hash_of_text(options))};
}

class LayersOfModel final : public LayerSource {
 public:
  explicit LayersOfModel(const CalibrationRequest& r) {
    if (r.input == "-") fail_usage("--calibrate: expected a model, got standard input");
    std::optional<UseDenseLibrary> products;  // fixed, so that all runs have the same bits
    if (const DenseLibrary* blas = find_dense_library("OpenBLAS")) products.emplace(*blas);
    ModelSource source = find_model(r.input);
    describe_by_data(r.options.data, source);
    const Task task = task_of(source, recipe_of(r.options, source), true);
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
    return cache_ ? cache_->read(t) : layers_->read(records_.at(t.name), t);
  }
  void finish() override {
    if (cache_) cache_->clear();
  }
  std::vector<std::string> notes() const override { return notes_; }

 private:
  using PruneLayer =
      std::function<Dense(const CalibratedWeight&, const Dense&, const InputStatistics&)>;

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
    if (batches.inputs.empty())
      fail("{}: expected rows to calibrate on, got none", printable(r.options.data));
    check_known(task.recipe(), batches.inputs);
    reorder_model(model, r.in, r.reordering, batches.inputs.front());
    allocate(r, task, model, batches, allocation);
    std::optional<ActivationsInMemory> in_memory;
    if (r.options.cache.empty()) {
      in_memory.emplace(batches.inputs.size());
      layers_.emplace();
    } else {
      cache_.emplace(r.options.cache, identity_of(r, model.graph(), batches.inputs),
                     batches.inputs.size());
      if (!cache_->layers().empty())
        notes_.push_back(fmt::format("continued the calibration of {} after {} of {} layers",
                                     printable(r.options.cache), cache_->layers().size(),
                                     wanted_.size()));
    }
    Progress progress("calibrate", wanted_.size(), r.show_progress, "layers");
    progress.add(cache_ ? cache_->layers().size() : 0);
    ActivationStore& store = cache_ ? static_cast<ActivationStore&>(*cache_) : *in_memory;
    const WalkResult result = prune_layers(
        r, model, batches.inputs, store, needs_gram(r),
        [&](const CalibratedWeight& w, const Dense& x, const InputStatistics& inputs) {
          CalibratedLayer layer = prune_layer(x, inputs, options_of(allocation.of(w), inputs));
          add(w, layer);
          progress.add(1);
          return std::move(layer.weights);
        });
    // All layers are in the cache from here on.
    if (cache_) cache_->advance({model.graph().nodes().size(), 0, result.positions}, true);
    add_notes(r, batches.rows, result, std::chrono::steady_clock::now() - start);
  }

  static bool needs_gram(const CalibrationRequest& r) {
    return std::ranges::any_of(r.weights, [](const auto& w) { return sten::needs_gram(w.how); });
  }

  // The inputs of the dense model's layers decide the allocation.
  void allocate(const CalibrationRequest& r, const Task& task, ModelWeights& model,
                const CalibrationBatches& batches, WeightAllocation& allocation) {
    if (!allocation.is_wanted()) return;
    const NamedValues<Tensor> dense = allocation.needs_loss() ? model.all() : NamedValues<Tensor>();
    const double dense_loss = allocation.needs_loss() ? loss_on(task, batches.parts, dense) : 0;
    ActivationsInMemory store(batches.inputs.size());
    prune_layers(
        r, model, batches.inputs, store, needs_gram(r) || allocation.needs_gram(),
        [&](const CalibratedWeight& w, const Dense& x, const InputStatistics& inputs) {
          double more = 0;
          if (allocation.needs_loss()) {
            NamedValues<Tensor> pruned = dense;
            for (auto& [name, value] : pruned)
              if (const auto at = wanted_.find(name); at != wanted_.end() && at->second == &w)
                value = as_graph_has_it(prune_layer(x, inputs, w.how).weights, w.how.transposed);
            more = loss_on(task, batches.parts, pruned) - dense_loss;
          }
          allocation.add(w, x, inputs, more);
          return x;
        });
    allocation.settle();
  }

  WalkResult prune_layers(const CalibrationRequest& r, ModelWeights& model, const Batches& batches,
                          ActivationStore& store, bool with_gram, const PruneLayer& prune) {
    return prune_along(
        {model.graph(), batches, store, [&](const std::string& name) { return model.load(name); },
         [&](const std::string& name) { return wanted_.contains(name); }, with_gram,
         std::ranges::any_of(r.weights, [](const auto& w) { return has_targets(w.how); }),
         [&](const std::string& name, const InputStatistics& inputs) {
           const CalibratedWeight& w = *wanted_.find(name)->second;
           try {
             Tensor next = as_graph_has_it(prune(w, r.load(*w.tensor), inputs), w.how.transposed);
             r.in.drop(*w.tensor);
             return next;
           } catch (const Error& e) {
             throw Error(e.fault(), fmt::format("{}: {}", quote(w.tensor->name), e.what()));
           }
         },
         [&] {
           model.release();
           empty_memory_pool();
         }});
  }

  // Without tokens, an expert's inputs say nothing.
  CalibratedOptions options_of(CalibratedOptions how, const InputStatistics& inputs) {
    if (inputs.samples > 0) return how;
    how.method = "magnitude";
    how.reconstruct = how.by_row = false;
    ++without_tokens_;
    return how;
  }

  void add(const CalibratedWeight& w, const CalibratedLayer& layer) {
    const bool with_values = w.how.reconstruct || is_solved(w.how.method);
    if (cache_)
      cache_->add(w.tensor->name, layer, with_values);
    else
      records_.emplace(w.tensor->name, layers_->add(layer, with_values));
  }

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
  std::optional<LayerFile> layers_;
  std::map<std::string, LayerRecord> records_;  // by name of the tensor
  Index without_tokens_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace

std::unique_ptr<LayerSource> layers_of_model(const CalibrationRequest& request) {
  return std::make_unique<LayersOfModel>(request);
}

}  // namespace sten
