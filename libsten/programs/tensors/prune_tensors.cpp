// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/registry/registry.h"
#include "libsten/files/system/lack_of_memory.h"
#include "libsten/programs/measure/measure.h"
#include "libsten/programs/prune/choose_mask.h"
#include "libsten/programs/tensors/tensor_checkpoint.h"

namespace sten {
namespace {

TensorOptions options_of(const PruneSettings& s) {
  TensorOptions o;
  o.sparsity = s.sparsity;
  o.method = value_of<PruneMethod>("--method", s.method);
  o.at = s.at;
  if (!s.scope.empty()) o.scope = value_of<PruneScope>("--scope", s.scope);
  o.structure = Spec::parse(s.structure);
  o.to = Spec::parse(s.to);
  o.nan = value_of<Nan>("--nan", s.nan);
  o.seed = s.seed;
  return o;
}

PruneOptions request_of(const PruneSettings& settings, const TensorPatterns& patterns,
                        const std::vector<std::string>& rules) {
  PruneOptions o;
  o.input = "-";  // no directory whose config.json describes the tensors
  o.patterns = patterns_of(patterns);
  o.tensors = options_of(settings);
  o.rules = rules;
  return o;
}

}  // namespace

TensorList prune_tensors(const TensorList& model, const PruneSettings& settings,
                         const TensorPatterns& patterns, const std::vector<std::string>& rules) {
  const PruneRequest request(request_of(settings, patterns, rules));
  const TensorOptions& options = request.options().tensors;
  const Checkpoint in = checkpoint_of(model);
  PrunePlan plan = plan_of(request, in, nullptr);
  const Reordering no_reordering;
  const WeightReader reader(in, plan, no_reordering, options.nan, "");
  find_tied(plan, in, no_reordering);
  const GlobalThreshold threshold(plan, options.sparsity.value_or(0), reader);
  TensorList pruned;
  for (const std::size_t i : plan.order) {
    const std::string& name = in.tensors()[i].name;
    const Dense x = reader.load(i);
    pruned.emplace_back(name, with_tensor_name(in.name(), name, [&]() -> Tensor {
                          const PrunedTensor p =
                              choose_mask(in, plan, i, threshold, options, x, nullptr);
                          if (p.tensor) return *p.tensor;
                          return registry().pack(x, p.keep, plan.tensors[i]->to);
                        }));
  }
  return pruned;
}

Tensor prune_tensor(const Tensor& x, const PruneSettings& settings) {
  const TensorInfo t = single(x, Purpose::prune);
  const TensorPatterns all{{pattern_of(t.name)}, {}};
  // Only the positions of a sparse tensor and a threshold over several tensors need a checkpoint.
  if (!x.is<Dense>() || settings.scope == "global" || first_not_finite(x.as<Dense>()))
    return prune_tensors({{t.name, x}}, settings, all, {}).front().second;
  const PruneRequest request(request_of(settings, all, {}));
  const TensorPlan& how = *request.default_plan();
  const PrunedTensor p =
      choose_mask(Checkpoint(), t, how, request.options().tensors, x.as<Dense>(), nullptr);
  return p.tensor ? *p.tensor : registry().pack(x.as<Dense>(), p.keep, how.to);
}

}  // namespace sten
