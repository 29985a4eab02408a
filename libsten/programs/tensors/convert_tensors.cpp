// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/lack_of_memory.h"
#include "libsten/programs/convert/convert_tensor.h"
#include "libsten/programs/convert/smallest_layouts.h"
#include "libsten/programs/rewrite/axis.h"
#include "libsten/programs/tensors/tensor_checkpoint.h"

namespace sten {
namespace {

// For each chosen tensor; resolves "auto".
std::vector<std::optional<Conversion>> conversions(const Checkpoint& in,
                                                   const std::vector<bool>& chosen, const Spec& to,
                                                   bool lossless) {
  std::vector<std::optional<Conversion>> all(chosen.size());
  std::vector<std::optional<Spec>> smallest(chosen.size());
  if (to.is("auto")) {
    to.check_keys({});
    smallest = smallest_layouts(in, chosen, false);
  }
  const std::vector<bool> are_in_by_out = in_by_out(in, "-");
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (to.is("auto") ? smallest[i].has_value() : chosen[i])
      all[i] =
          conversion_to(smallest[i] ? *smallest[i] : for_matrix(to, are_in_by_out[i]), lossless);
  return all;
}

}  // namespace

TensorList convert_tensors(const TensorList& model, const std::string& to,
                           const TensorPatterns& patterns, bool lossless) {
  const Checkpoint in = checkpoint_of(model);
  const Spec layout = as_structure(Spec::parse(to));
  const Selection selection = select_tensors(in, patterns_of(patterns), Purpose::convert);
  const auto plans = conversions(in, selection.chosen, layout, lossless);
  TensorList converted;
  for (std::size_t i = 0; i < plans.size(); ++i)
    if (plans[i])
      converted.emplace_back(in.tensors()[i].name,
                             with_tensor_name(in.name(), in.tensors()[i].name, [&] {
                               return convert_tensor(model[i].second, *plans[i]).tensor;
                             }));
  return converted;
}

Tensor convert_tensor(const Tensor& x, const std::string& to, bool lossless) {
  const TensorInfo t = single(x, Purpose::convert);
  const Spec layout = as_structure(Spec::parse(to));
  if (!layout.is("auto")) return convert_tensor(x, conversion_to(layout, lossless)).tensor;
  const TensorList converted =
      convert_tensors({{t.name, x}}, to, {{pattern_of(t.name)}, {}}, lossless);
  return converted.empty() ? x : converted.front().second;
}

}  // namespace sten
