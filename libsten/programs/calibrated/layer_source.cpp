#include "libsten/programs/calibrated/layer_source.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "libsten/compute/calibrate/matrix.h"
#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/core/tensor/low_floats.h"
#include "libsten/model/graph/node_errors.h"
#include "libsten/programs/calibrated/statistics_file.h"
#include "libsten/programs/calibrated/weight_allocation.h"
#include "libsten/programs/run/run_data.h"
#include "libsten/training/trainer/model_walk.h"

namespace sten {
namespace {

using Weights = std::vector<CalibratedWeight>;

class FromFile final : public LayerSource {
 public:
  explicit FromFile(const CalibrationRequest& r)
      : file_(r.options.statistics), in_(r.in), reordering_(r.reordering) {
    WeightAllocation allocation(r.options.allocate, r.sparsity);
    for (const CalibratedWeight& w : r.weights) {
      CalibratedOptions needed = w.how;
      needed.reconstruct |= allocation.needs_gram();
      file_.check(*w.tensor, needed);
      if (!allocation.is_wanted()) continue;
      allocation.add(w, r.load(*w.tensor), file_.read(*w.tensor, needed));
      file_.drop(*w.tensor);
    }
    allocation.settle();
    for (const CalibratedWeight& w : r.weights) how_.emplace(w.tensor->name, allocation.of(w));
  }
  CalibratedLayer prune(const CheckpointTensor& t, const Dense& x) override {
    const CalibratedOptions& how = how_.at(t.name);
    const auto i = static_cast<std::size_t>(in_.find(t.name) - in_.tensors().data());
    const InputStatistics inputs = reordering_.moved(i, file_.read(t, how));
    std::optional<Mask> mask = choose_layer(x, inputs, how);
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    CalibratedLayer layer = mask ? CalibratedLayer{{}, *std::move(mask), unknown, unknown}
                                 : prune_layer(x, inputs, how);
    file_.drop(t);
    return layer;
  }

 private:
  StatisticsFile file_;
  const Checkpoint& in_;
  const Reordering& reordering_;
  std::map<std::string, CalibratedOptions> how_;
};

// Rows per batch; bounds the scratch memory of operators.
constexpr Index rows_at_once = 16;

// The largest batch of at most rows_at_once rows that divides the number of samples.
Index rows_of_batch(Index samples) {
  Index rows = std::min(samples, rows_at_once);
  while (samples % rows != 0) --rows;
  return rows;
}

// Permutes the weights of the model; its outputs stay the same.
void reorder(RunnableModel& model, const Checkpoint& in, const Reordering& reordering) {
  std::set<std::string> moved;
  for (std::size_t i = 0; i < in.tensors().size(); ++i) {
    if (!reordering.moves(i)) continue;
    const std::string& name = in.tensors()[i].name;
    const auto w = std::ranges::find_if(model.graph.weights(), [&](const Weight& each) {
      return each.name == name || std::ranges::count(each.aliases, name);
    });
    const auto at =
        w == model.graph.weights().end() ? model.weights.end() : model.weights.find(w->name);
    if (at == model.weights.end() || at->second.shape() != in.tensors()[i].shape)
      fail_usage("--reorder: unknown weight {} of the model that --calibrate runs", quote(name));
    if (!moved.insert(w->name).second)
      fail_usage("--reorder: {} is a tied weight of another --reorder", quote(name));
    at->second = reordering.moved(i, at->second.to_dense());
  }
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

class FromModel final : public LayerSource {
 public:
  explicit FromModel(const CalibrationRequest& r) {
    if (r.input == "-") fail_usage("--calibrate: expected a model, got standard input");
    std::optional<UseDenseLibrary> products;  // fixed, so that all runs have the same bits
    if (const DenseLibrary* blas = find_dense_library("OpenBLAS")) products.emplace(*blas);
    ModelSource source = find_model(r.input);
    describe_by_data(r.options.data, source);
    Recipe recipe = data_recipe(source, {.path = r.options.data});
    recipe.batch = rows_of_batch(r.options.rows());
    recipe.accumulate = 1;
    recipe.data.crop_padding = 0;
    recipe.data.mirror = false;
    recipe.data.has_labels = r.options.allocate == AllocationMethod::sensitivity;
    const Task task = task_of(source, recipe);
    RunnableModel model = read_model(source, task);
    for (auto& [name, w] : model.weights) w = widened(w);
    const NamedValues<Tensor> given = model.weights;
    reorder(model, r.in, r.reordering);
    with_model_file(
        [&] { return source.name; },
        [&] { walk(r, task, model, r.reordering.firsts().empty() ? nullptr : &given); });
  }

  CalibratedLayer prune(const CheckpointTensor& t, const Dense&) override {
    const auto it = layers_.find(t.name);
    CalibratedLayer layer = std::move(it->second);
    layers_.erase(it);
    return layer;
  }
  std::vector<std::string> notes() const override { return {note_}; }

 private:
  // `given`: the weights before the permutation, if there is one.
  void walk(const CalibrationRequest& r, const Task& task, const RunnableModel& model,
            const NamedValues<Tensor>* given) {
    const Weights& weights = r.weights;
    std::map<std::string, const CalibratedWeight*, std::less<>> wanted;  // by name in the graph
    for (const Weight& w : model.graph.weights())
      for (const CalibratedWeight& c : weights)
        if (c.tensor->name == w.name || std::ranges::count(w.aliases, c.tensor->name))
          wanted.emplace(w.name, &c);
    std::set<std::string_view> linear;
    for (const Node& n : model.graph.nodes())
      if (const auto at = n.op == Name("linear") ? wanted.find(n.inputs[1]) : wanted.end();
          at != wanted.end())
        linear.insert(at->second->tensor->name);
    check_all_linear(weights, [&](const std::string& name) { return linear.contains(name); });
    WeightAllocation allocation(r.options.allocate, r.sparsity);
    const bool with_gram =
        allocation.needs_gram() ||
        std::ranges::any_of(weights, [](const auto& w) { return needs_gram(w.how); });
    const auto start = std::chrono::steady_clock::now();
    std::vector<NamedValues<Tensor>> batches;
    std::vector<BatchPart> parts;  // batches of the task, if losses are measured
    Index rows = 0;
    const Index samples = r.options.rows();
    // With fewer rows than samples, each row is used once.
    for (Index step = 0; rows < samples && step < task.steps_per_epoch(); ++step)
      for (const BatchPart& part : task.batch(step)) {
        NamedValues<Tensor>& batch = batches.emplace_back();
        for (const std::string& name : model.graph.inputs())
          batch.emplace(name, part.inputs.at(name));
        if (allocation.needs_loss()) parts.push_back(part);
        rows += rows_of(part);
      }
    if (batches.empty())
      fail("{}: expected rows to calibrate on, got none", printable(r.options.data));
    if (given) check_order(model, *given, batches.front());
    const auto along = [&](const auto& prune) {
      return prune_along(
          model.graph, model.weights, batches,
          [&](const std::string& name) { return wanted.contains(name); }, with_gram,
          [&](const std::string& name, const InputStatistics& inputs) {
            const CalibratedWeight& w = *wanted.at(name);
            try {
              return as_graph_has_it(prune(w, r.load(*w.tensor), inputs), w.how.transposed);
            } catch (const Error& e) {
              throw Error(e.fault(), fmt::format("{}: {}", quote(w.tensor->name), e.what()));
            }
          });
    };
    const double dense_loss = allocation.needs_loss() ? loss_on(task, parts, model.weights) : 0;
    // The inputs of the dense model's layers decide the allocation.
    if (allocation.is_wanted())
      along([&](const CalibratedWeight& w, const Dense& x, const InputStatistics& inputs) {
        double more = 0;
        if (allocation.needs_loss()) {
          NamedValues<Tensor> pruned = model.weights;
          for (auto& [name, value] : pruned)
            if (const auto at = wanted.find(name); at != wanted.end() && at->second == &w)
              value = as_graph_has_it(prune_layer(x, inputs, w.how).weights, w.how.transposed);
          more = loss_on(task, parts, pruned) - dense_loss;
        }
        allocation.add(w, x, inputs, more);
        return x;
      });
    allocation.settle();
    const WalkResult result =
        along([&](const CalibratedWeight& w, const Dense& x, const InputStatistics& inputs) {
          CalibratedLayer layer = prune_layer(x, inputs, allocation.of(w));
          Dense next = layer.weights;
          layers_.emplace(w.tensor->name, std::move(layer));
          return next;
        });
    check_all_linear(weights, [&](const std::string& name) { return layers_.contains(name); });
    note_ = fmt::format(
        "calibrated on {} rows of {} ({} positions) in {:.1f} s, with up to {} of values", rows,
        printable(r.options.data), result.positions,
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
        human_bytes(static_cast<std::uint64_t>(result.most_bytes)));
  }

  // Error that names all weights for which `is_linear` is false.
  static void check_all_linear(const Weights& weights,
                               const std::function<bool(const std::string&)>& is_linear) {
    std::string others;
    Index count = 0;
    for (const CalibratedWeight& w : weights)
      if (!is_linear(w.tensor->name)) {
        others += (count++ == 0 ? "" : ", ") + quote(w.tensor->name);
      }
    if (count == 1)
      fail_usage("{} cannot be calibrated: expected the weight of a linear layer (or --exclude)",
                 others);
    if (count > 1)
      fail_usage(
          "{} tensors cannot be calibrated: expected weights of linear layers (or --exclude): {}",
          count, others);
  }

  // Error if the permuted model computes another result: an operator between two weights depends on
  // the order of features.
  static void check_order(const RunnableModel& model, const NamedValues<Tensor>& given,
                          const NamedValues<Tensor>& batch) {
    const auto run = [&](const NamedValues<Tensor>& weights) {
      return model.graph.run<Tensor>(weights, batch).at(model.graph.outputs().front()).to_dense();
    };
    const Dense before = run(given), after = run(model.weights);
    const auto a = before.values.as<float>(), b = after.values.as<float>();
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double x = a[i];
      difference = std::max(difference, std::abs(b[i] - x));
      size = std::max(size, std::abs(x));
    }
    constexpr double rounding = 1e-3;  // of sums in another order, over all layers
    if (!(difference <= rounding * size))
      fail_usage(
          "--reorder: outputs of up to {:.3g} change by {:.3g}: expected only operators on single "
          "features between FIRST and NEXT",
          size, difference);
  }

  // Mean loss over the predictions of all batches.
  static double loss_on(const Task& task, const std::vector<BatchPart>& parts,
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

  // The weight as the graph has it: [out, in], float32.
  static Tensor as_graph_has_it(const Dense& w, bool transposed) {
    auto a = calibrate::matrix_of<float>(w);
    if (transposed) a = calibrate::transposed(a);
    return calibrate::to_dense(a, DType::F32, {a.rows, a.cols});
  }

  std::map<std::string, CalibratedLayer> layers_;
  std::string note_;
};

}  // namespace

std::unique_ptr<LayerSource> layer_source(const CalibrationRequest& request) {
  if (!request.options.statistics.empty()) return std::make_unique<FromFile>(request);
  return std::make_unique<FromModel>(request);
}

}  // namespace sten
