// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/calibrated/model_reorder.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

Dense first_output(ModelWeights& model, const NamedValues<Tensor>& batch) {
  const StreamedModel streamed(model.source(), {batch});
  const std::size_t output = model.graph().output_values().front();
  Dense y;
  streamed.run(streamed.weights(), streamed.first(),
               [&](std::size_t, std::size_t, const BatchValues& values) {
                 y = values[output].dense.to_dense();
               });
  return y;
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
  const Dense before = first_output(model, batch);
  reorder(model, in, reordering);
  const Dense after = first_output(model, batch);
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

}  // namespace sten
