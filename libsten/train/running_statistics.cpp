#include "libsten/train/running_statistics.h"

#include <algorithm>

namespace sten {
namespace {

void move_towards(Tensor& weight, std::span<const float> to, double momentum) {
  weight = Tensor::update(std::move(weight), [&](Values& v) {
    const std::span<float> w = v.mutate<float>();
    for (std::size_t c = 0; c < w.size(); ++c)
      w[c] = static_cast<float>((1 - momentum) * double{w[c]} + momentum * double{to[c]});
  });
}

}  // namespace

void StatisticsOfStep::add(const NamedValues<Var>& outputs) {
  if (graph_.statistics().empty()) return;
  NamedValues<Tensor>& moments = parts_.emplace_back();
  for (const RunningStatistics& s : graph_.statistics())
    moments.emplace(s.moments, outputs.at(s.moments).value());
}

void StatisticsOfStep::apply(std::vector<Parameter>& weights) const {
  const auto value_of = [&](const std::string& name) -> Tensor& {
    return std::ranges::find(weights, name, &Parameter::name)->value;
  };
  for (const RunningStatistics& s : graph_.statistics()) {
    Tensor &mean = value_of(s.mean), &variance = value_of(s.variance);
    for (const NamedValues<Tensor>& part : parts_) {
      const auto both = part.at(s.moments).as<Dense>().values.as<float>();
      move_towards(mean, both.first(both.size() / 2), s.momentum);
      move_towards(variance, both.last(both.size() / 2), s.momentum);
    }
  }
}

Graph with_moments(const Graph& g) {
  GraphParts parts = g.parts();
  for (const RunningStatistics& s : parts.statistics) parts.outputs.push_back(s.moments);
  return Graph(std::move(parts));
}

}  // namespace sten
