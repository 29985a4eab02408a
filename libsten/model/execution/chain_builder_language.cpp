// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/chain_builder_language.h"

#include "libsten/model/execution/language_instructions.h"

namespace sten::execution {

bool LanguageChainBuilder::take_rms_norm(const Node& n) {
  if (plan_.graph.arguments(node_).size() != 2) return false;
  for (const auto& [name, v] : n.attributes.all())
    if (name != "eps" && name != "unit_offset") return false;
  const double eps = n.attributes.number("eps", 1e-6);
  const Index offset = n.attributes.integer("unit_offset", 0);
  const auto shape = shape_of(argument(0));
  const Tensor* w = weight(1);
  if (!shape || !w || !is_floats(*w) || !(eps >= 0) || (offset != 0 && offset != 1)) return false;
  const Index features = shape->back(), count = w->shape().size() == 1 ? w->shape()[0] : 0;
  if (count == 0 || features % count != 0) return false;
  auto step = std::make_unique<RmsNormInstruction>();
  const std::span<const float> factors = w->values()->as<float>();
  step->factors.assign(factors.begin(), factors.end());
  if (offset == 1)
    for (float& f : step->factors) f += 1;
  step->eps = static_cast<float>(eps);
  step->features = features;
  const std::size_t x = step->x = value(argument(0), *shape, is_norm_interleaved());
  step->from_interleaved = is_interleaved(x);
  step->interleaved = is_norm_rounded(x);
  read(x);
  const std::size_t y = step->y = result_of(x, features, step->interleaved);
  write(std::move(step), y, about(n, "over the features of each panel", 2 * features, is_low()));
  return true;
}

bool LanguageChainBuilder::take_rotary(const Node& n) {
  if (plan_.graph.arguments(node_).size() != 3) return false;
  for (const auto& [name, v] : n.attributes.all())
    if (name != "heads" && name != "interleaved" && name != "scale") return false;
  const auto shape = shape_of(argument(0));
  const Index heads = n.attributes.integer("heads", 1),
              order = n.attributes.integer("interleaved", 0);
  if (!shape || shape->size() != 3 || heads < 1 || shape->back() % heads != 0 ||
      (order != 0 && order != 1))
    return false;
  const Index features = shape->back(), width = features / heads;
  const Tensor *f = weight(2), *positions = integers(1);
  if (!f || !is_floats(*f) || f->shape().size() != 1 || 2 * f->shape()[0] > width) return false;
  if (!positions || (positions->shape() != Shape{(*shape)[1]} &&
                     positions->shape() != Shape{(*shape)[0], (*shape)[1]}))
    return false;
  auto step = std::make_unique<RotaryInstruction>();
  step->width = width;
  step->pairs_neighbours = order == 1;
  step->interleaved = is_low();
  step->features = features;
  chain_->rotations.push_back(
      {argument(1), argument(2), n.attributes.number("scale", 1), positions->shape(), step.get()});
  const std::size_t x = step->x = value(argument(0), *shape, is_low());
  read(x);
  const std::size_t y = step->y = in_place_of(x, features);
  write(std::move(step), y,
        about(n, "cosines and sines are computed once for all layers", 2 * features, is_low()));
  return true;
}

bool LanguageChainBuilder::take_mul(const Node& n) {
  if (plan_.graph.arguments(node_).size() != 2 || !n.attributes.all().empty()) return false;
  const auto shape = shape_of(argument(0));
  if (!shape || shape != shape_of(argument(1))) return false;
  auto step = std::make_unique<MultiplyInstruction>();
  const Index features = step->features = shape->back();
  step->interleaved = is_low();
  const std::size_t a = step->a = value(argument(0), *shape, is_low());
  const std::size_t b = step->b = value(argument(1), *shape, is_low());
  read(a);
  read(b);
  const std::size_t y = step->y = in_place_of(a, features);
  write(std::move(step), y, about(n, "element for element", 3 * features, is_low()));
  return true;
}

bool LanguageChainBuilder::take_slice(const Node& n) {
  if (!is_feature_slice(n)) return false;
  const auto shape = shape_of(argument(0));
  if (!shape) return false;
  const Index features = shape->back(), begin = n.attributes.integer("begin", 0),
              end = n.attributes.integer("end", 0), count = end - begin;
  if (begin < 0 || count <= 0 || end > features) return false;  // refused by the operator
  if (is_low() && (begin % 2 != 0 || count % 2 != 0)) return false;
  auto step = std::make_unique<SliceInstruction>();
  step->features = features;
  step->begin = begin;
  step->count = count;
  step->interleaved = is_low();
  step->x = value(argument(0), *shape, is_low());
  read(step->x);
  const std::size_t y = step->y = add_value(plan_.value_of(node_), count, is_low());
  write(std::move(step), y, about(n, "features of a panel are copied", 2 * count, is_low()));
  return true;
}

}  // namespace sten::execution
