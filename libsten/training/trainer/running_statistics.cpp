// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/running_statistics.h"

#include <algorithm>

#include "libsten/core/base/cuda.h"
#include "libsten/model/graph/running_average.h"

namespace sten {
namespace {

Dense moments_here(const Tensor& moments) { return moments.as<Dense>().to(Device::cpu); }

// Moves a weight on its device; on a device, adds the work to `device_averages`.
void move_towards(Tensor& weight, std::span<const float> to, double momentum,
                  std::vector<kernels::AveragedElements>& device_averages) {
  const bool is_on_device = weight.device() != Device::cpu;
  weight = Tensor::update(std::move(weight), [&](Values& v) {
    const std::span<float> w = v.mutate<float>();
    if (is_on_device) {
      device_averages.push_back({w.data(), to.data(), std::ssize(w), static_cast<float>(momentum)});
      return;
    }
    move_average(w, to, momentum);
  });
}

}  // namespace

void StatisticsOfStep::add(Index part, const NamedValues<Tensor>& outputs) {
  if (graph_.statistics().empty()) return;
  NamedValues<Tensor>& moments = parts_[part];
  for (const RunningStatistics& s : graph_.statistics())
    moments.emplace(s.moments, outputs.at(s.moments));
}

// A sum in which one rank has the moments of a part, preceded by 1, and the other ranks have zeros.
void StatisticsOfStep::exchange(Communicator& ranks, Index parts) {
  if (graph_.statistics().empty()) return;
  std::size_t width = 1;
  for (const RunningStatistics& s : graph_.statistics())
    width += 2 * static_cast<std::size_t>(size_of(graph_.find_weight(s.mean)->shape));
  std::vector<float> all(static_cast<std::size_t>(parts) * width);
  for (const auto& [number, part] : parts_) {
    auto to = all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(number) * width);
    *to++ = 1;
    for (const RunningStatistics& s : graph_.statistics())
      to = std::ranges::copy(moments_here(part.at(s.moments)).values.as<float>(), to).out;
  }
  ranks.sum(all);
  for (Index k = 0; k < parts; ++k) {
    const float* from = all.data() + static_cast<std::size_t>(k) * width;
    if (*from++ == 0) continue;
    for (const RunningStatistics& s : graph_.statistics()) {
      Dense both = Dense::zeros(DType::F32, {2 * size_of(graph_.find_weight(s.mean)->shape)});
      std::copy_n(from, both.size(), both.values.mutate<float>().begin());
      from += both.size();
      parts_[k].insert_or_assign(s.moments, std::move(both));
    }
  }
}

void StatisticsOfStep::apply(std::vector<Parameter>& weights) const {
  const auto value_of = [&](const std::string& name) -> Tensor& {
    return std::ranges::find(weights, name, &Parameter::name)->value;
  };
  for (const auto& [number, part] : parts_) {
    std::vector<kernels::AveragedElements> device_averages;
    std::vector<Dense> held;  // values that it points to
    for (const RunningStatistics& s : graph_.statistics()) {
      Tensor &mean = value_of(s.mean), &variance = value_of(s.variance);
      const Dense& moments = held.emplace_back(part.at(s.moments).as<Dense>().to(mean.device()));
      const auto both = moments.values.as<float>();
      move_towards(mean, both.first(both.size() / 2), s.momentum, device_averages);
      move_towards(variance, both.last(both.size() / 2), s.momentum, device_averages);
    }
    if (device_averages.empty()) continue;
    launch(&kernels::StepFunctions::average, device_averages);
  }
}

Graph with_moments(const Graph& g) {
  GraphParts parts = g.parts();
  for (const RunningStatistics& s : parts.statistics) parts.outputs.push_back(s.moments);
  return Graph(std::move(parts));
}

}  // namespace sten
