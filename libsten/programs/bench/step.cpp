// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/step.h"

#include "libsten/compute/product/device_gemm.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/base/memory_pool.h"
#include "libsten/core/base/random.h"
#include "libsten/core/layout/masked.h"
#include "libsten/programs/bench/bert.h"
#include "libsten/programs/bench/image_model.h"
#include "libsten/programs/bench/precision.h"
#include "libsten/training/optim/adamw.h"
#include "libsten/training/optim/sgd.h"
#include "libsten/training/trainer/gradient_exchange.h"

namespace sten {
namespace {

constexpr double masked_share = 0.15;  // share of tokens

// A model to train.
struct StepCase {
  std::string model;  // of rows; empty: a BERT
  Shape shape;
  Graph graph;
  NamedValues<Tensor> inputs;
  std::vector<std::string> sparse;  // weights that get layouts
  bool uses_sgd = false;            // with Nesterov momentum; otherwise AdamW
};

// Random integers below `count`, the same for the same seed.
std::int64_t drawn_below(Index count, std::uint64_t seed, Index i) {
  return static_cast<std::int64_t>(random_uniform(seed, i) * static_cast<double>(count));
}
Dense list_of(const std::vector<std::int64_t>& values) {
  Dense x = Dense::zeros(DType::I64, {std::ssize(values)});
  std::ranges::copy(values, x.values.mutate<std::int64_t>().begin());
  return x;
}

StepCase step_case_of(const BenchBert& model, std::uint64_t seed) {
  Graph g = bert(model.config, {.mask = false, .selected = true, .loss = true});
  NamedValues<Tensor> inputs = bert_inputs(model.ids(seed));
  std::vector<std::int64_t> masked_positions, labels;
  for (Index i = 0; i < model.batch * model.window; ++i) {
    if (random_uniform(seed + 1, i) >= masked_share) continue;
    masked_positions.push_back(i);
    labels.push_back(drawn_below(model.config.vocab_size, seed + 2, i));
  }
  inputs.emplace("selected", list_of(masked_positions));
  inputs.emplace("labels", list_of(labels));
  std::vector<std::string> sparse = encoder_weights(g);
  return {"", model.shape(), std::move(g), std::move(inputs), std::move(sparse)};
}

StepCase step_case_of(const BenchImages& model, std::uint64_t seed) {
  GraphParts g = model.graph.parts();
  g.inputs.emplace_back("labels");
  g.nodes.push_back({"loss", "cross-entropy", {g.outputs.front(), "labels"}});
  g.outputs = {"loss"};
  std::vector<std::int64_t> labels;
  for (Index i = 0; i < model.batch; ++i) labels.push_back(drawn_below(model.classes, seed + 2, i));
  return {model.name,
          model.shape,
          Graph(std::move(g)),
          {{"x", model.images(seed)}, {"labels", list_of(labels)}},
          convolution_weights(model.graph),
          true};
}

// When gradients are summed over ranks.
enum class Summed { during, after, never };

// A model in training. With a layout, the encoder's weights are masked, or in the layout.
class Training {
 public:
  Training(const StepCase& s, std::uint64_t seed, const BenchLayout* layout, bool is_masked,
           Device device)
      : case_(s), is_masked_(is_masked), device_(device) {
    for (auto& [name, value] : initial_weights(s.graph, seed)) parameters_.emplace(name, value);
    if (layout) make_sparse(*layout);
    for (auto& [name, p] : parameters_) p.value = p.value.to(device);
    for (const auto& [name, x] : s.inputs) inputs_.emplace(name, x.to(device));
    seed_ = seed_.to(device);
  }

  // Runs a step. With `refresh`, selects the masks of sparse weights again, from complete
  // gradients.
  void step(Communicator& ranks, Summed when, Transport by, kernels::Factors factors,
            bool refresh = false) {
    const RoundedProducts rounded(factors);
    Tape tape;
    NamedValues<Var> weights, inputs;
    std::vector<Parameter*> parameters;
    std::vector<bool> is_selected;
    for (auto& [name, p] : parameters_) {
      // A masked weight's gradient is dense: AdamW masks it in its own pass.
      const bool is_dense = is_masked_ || (refresh && is_sparse(name));
      weights.emplace(
          name, is_dense ? tape.parameter(p.value, OutFormat::dense()) : tape.parameter(p.value));
      parameters.push_back(&p);
      is_selected.push_back(refresh && is_sparse(name));
    }
    for (const auto& [name, x] : inputs_) inputs.emplace(name, x);
    const Var loss = case_.graph.run(weights, inputs).at("loss");
    weights.clear();
    std::vector<std::optional<Tensor>> gradients(parameters.size());
    GradientExchange exchange(ranks, by);
    const auto send = [&](std::size_t i) {
      if (device_ != Device::cpu) return;  // of a single process
      const Tensor& w = parameters[i]->value;
      exchange.add(*gradients[i], w.is<Masked>() && !is_selected[i] ? &w : nullptr);
    };
    tape.backward(loss, seed_, [&](std::size_t i, Tensor gradient) {
      gradients[i] = std::move(gradient);
      if (when == Summed::during) send(i);
    });
    if (when == Summed::after)
      for (std::size_t i = gradients.size(); i-- > 0;)
        if (gradients[i]) send(i);
    exchange.finish();
    const Update plain, reselect = selected_by_ ? Update::resparsify(*selected_by_) : Update();
    std::vector<ParameterStep> steps;
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (gradients[i])  // skips running statistics
        steps.push_back({parameters[i], &*gradients[i], is_selected[i] ? &reselect : &plain});
    if (case_.uses_sgd)
      sgd_.step(steps);
    else
      adamw_.step(steps);
    if (device_ != Device::cpu) launch(&kernels::cuda::MemoryFunctions::wait);
  }

 private:
  void make_sparse(const BenchLayout& layout) {
    const Spec& by = layout.sparsifier ? *layout.sparsifier : *layout.pruned;
    selected_by_ = registry().sparsifier(by);
    for (const std::string& name : case_.sparse) {
      Parameter& p = parameters_.at(name);
      const Dense x = p.value.to_dense();
      p.value =
          is_masked_ ? registry().prune(x, by, Spec("masked")) : layout.convert(layout.prepare(x));
      sparse_.push_back(name);
    }
  }
  bool is_sparse(const std::string& name) const {
    return std::ranges::find(sparse_, name) != sparse_.end();
  }

  const StepCase& case_;
  bool is_masked_;
  Device device_;
  NamedValues<Tensor> inputs_;
  Tensor seed_ = Dense::of({}, {1.0F});  // of gradients
  std::map<std::string, Parameter> parameters_;
  std::vector<std::string> sparse_;
  std::optional<Sparsifier> selected_by_;
  AdamW adamw_;
  Sgd sgd_{{.rate = 1e-3, .momentum = 0.9, .nesterov = true, .weight_decay = 5e-4}};
};

std::vector<BenchRow> measure(const StepCase& step_case, const std::vector<BenchLayout>& layouts,
                              int threads, const BenchOptions& o) {
  set_threads(threads);
  enlarge_memory_pool();
  std::vector<std::unique_ptr<Training>> all;
  const Device device = o.device.type;
  const auto training = [&](const BenchLayout* layout, bool is_masked) -> Training& {
    return *all.emplace_back(
        std::make_unique<Training>(step_case, o.seed, layout, is_masked, device));
  };
  Communicator& ranks = *o.ranks;
  const Transport by = transport_from(o.transport).value();
  struct Variant {
    std::string form, layout;
    Training* training;
    bool is_refreshed = false;
    Summed summed = Summed::during;
    StepPrecision precision{};
  };
  std::vector<Variant> what;
  const auto add = [&](const char* form, const std::string& layout, Training& of) {
    what.push_back({form, layout, &of});
    if (ranks.size() == 1) return;
    what.push_back({form + std::string(" apart"), layout, &of, false, Summed::after});
    what.push_back({form + std::string(" alone"), layout, &of, false, Summed::never});
  };
  add("dense", "dense", training(nullptr, false));
  for (const BenchLayout& layout : layouts) {
    Training &masked = training(&layout, true), &sparse = training(&layout, false);
    add("masked", layout.name, masked);
    what.push_back({"refreshed", layout.name, &masked, true});
    add("sparse", layout.name, sparse);
  }
  // Always measures the dense step in float32, the baseline of ratios.
  const std::vector<Variant> usual = std::exchange(what, {what.front()});
  for (const StepPrecision& p : step_precisions(o.precisions))
    for (std::size_t i = p.factors == kernels::Factors::float32 ? 1 : 0; i < usual.size(); ++i) {
      what.push_back(usual[i]);
      what.back().precision = p;
    }
  std::vector<std::function<void()>> variants;
  for (const Variant& w : what)
    variants.push_back([&] {
      w.training->step(ranks, w.summed, by, w.precision.factors, w.is_refreshed);
      // Includes the next step, which has no caches for its new positions.
      if (w.is_refreshed) w.training->step(ranks, w.summed, by, w.precision.factors);
    });
  std::vector<std::uint64_t> bytes;
  for (const auto& variant : variants) {
    const std::uint64_t before = ranks.bytes();
    variant();
    bytes.push_back(ranks.bytes() - before);
  }
  auto seconds =
      time_interleaved(variants, {.repeats = o.repeats, .threads = threads, .ranks = &ranks});
  std::vector<BenchRow> rows;
  for (std::size_t i = 0; i < what.size(); ++i) {
    if (what[i].is_refreshed) {
      // The mean step of a cycle, in which all but two have a fixed mask.
      const auto cycle = static_cast<double>(o.refresh.value_or(usual_refresh));
      const auto is_its = [&](const Variant& w) {
        return w.training == what[i].training && w.precision.factors == what[i].precision.factors;
      };
      const std::vector<double>& fixed =
          seconds[static_cast<std::size_t>(std::ranges::find_if(what, is_its) - what.begin())];
      for (std::size_t repeat = 0; repeat < fixed.size(); ++repeat)
        seconds[i][repeat] = ((cycle - 2) * fixed[repeat] + seconds[i][repeat]) / cycle;
    }
    BenchRow& row = rows.emplace_back();
    row.bench = "step";
    row.form = what[i].form;
    row.model = step_case.model;
    row.shape = step_case.shape;
    row.layout = what[i].layout;
    row.precision = what[i].precision.name;
    row.threads = threads;
    if (device != Device::cpu) row.device = std::string(name_of(device));
    row.ranks = ranks.size();
    if (ranks.size() > 1 && !what[i].is_refreshed) row.bytes = static_cast<Index>(bytes[i]);
    row.seconds = median(seconds[i]);
    row.ratio = speedup(seconds[0], seconds[i]);
    row.repeats = static_cast<int>(seconds[i].size());
  }
  return rows;
}

}  // namespace

std::vector<BenchRow> bench_step(const BenchOptions& options) {
  BenchOptions o = options;
  const std::vector<BenchImages> images = take_images(o);
  std::vector<BenchRow> rows =
      bench_each_bert(o, [](const BenchBert& model, const std::vector<BenchLayout>& layouts,
                            int threads, const BenchOptions& of) {
        // Ranks have different batches.
        const auto own = of.seed + static_cast<std::uint64_t>(of.ranks->rank());
        return measure(step_case_of(model, own), layouts, threads, of);
      });
  for (const BenchImages& model : images)
    for (const int threads : o.threads)
      for (BenchRow& row : measure(step_case_of(model, o.seed), sparse_layouts(o), threads, o))
        rows.push_back(std::move(row));
  return rows;
}

}  // namespace sten
