// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/calibrated/model_reorder.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/training/trainer/sliced_output.h"

namespace sten {
namespace {

// The slices of the first output.
std::vector<Dense> first_output(ModelWeights& model, const NamedValues<Tensor>& batch) {
  const StreamedModel::Source source = model.source();
  const SlicedOutput output(model.graph());
  const StreamedModel streamed(source, {batch}, output.input());
  std::vector<Tensor> input;
  streamed.run(streamed.weights(), streamed.first(),
               [&](std::size_t, std::size_t, const BatchValues& values) {
                 input.push_back(values[output.input()]);
               });
  std::vector<Dense> slices;
  output.run(source.weight, input, [&](std::size_t, const Dense& slice) {
    slices.push_back(slice);
    source.released();
  });
  return slices;
}

void reorder(ModelWeights& model, const Checkpoint& in, const Reordering& reordering) {
  std::set<std::string> moved;
  const std::vector<Weight>& weights = model.graph().weights();
  for (std::size_t i = 0; i < in.tensors().size(); ++i) {
    if (!reordering.moves(i)) continue;
    const std::string& name = in.tensors()[i].name;
    const auto w = std::ranges::find_if(weights, [&](const Weight& each) {
      return each.name == name || std::ranges::count(each.aliases, name);
    });
    if (w == weights.end() || w->shape != in.tensors()[i].shape)
      fail_usage("--reorder: unknown weight {} of the model that --calibrate runs", quote(name));
    if (!moved.insert(w->name).second)
      fail_usage("--reorder: {} is a tied weight of another --reorder", quote(name));
    model.change(w->name, [&, i](const Dense& x) { return reordering.moved(i, x); });
  }
}

}  // namespace

void reorder_model(ModelWeights& model, const Checkpoint& in, const Reordering& reordering,
                   const NamedValues<Tensor>& batch) {
  if (reordering.firsts().empty()) return;
  const std::vector<Dense> before = first_output(model, batch);
  reorder(model, in, reordering);
  const std::vector<Dense> after = first_output(model, batch);
  double difference = 0, size = 0;
  for (std::size_t s = 0; s < before.size(); ++s) {
    const auto a = before[s].values.as<float>(), b = after[s].values.as<float>();
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double x = a[i];
      difference = std::max(difference, std::abs(b[i] - x));
      size = std::max(size, std::abs(x));
    }
  }
  constexpr double rounding = 1e-3;  // of sums in another order, over all layers
  if (!(difference <= rounding * size))
    fail_usage(
        "--reorder: outputs of up to {:.3g} change by {:.3g}: expected only operators on single "
        "features between FIRST and NEXT",
        size, difference);
}

}  // namespace sten
