// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/measure/energy_sums.h"
#include "libsten/programs/tensors/tensor_checkpoint.h"

namespace sten {
namespace {

TensorEnergy energy_of(std::string name, const Sums& s, bool is_compared) {
  TensorEnergy e{std::move(name), s.elements, s.nnz, s.zeros, s.bytes, {}};
  if (is_compared && s.elements > 0) e.energy = energy(s.original);
  return e;
}

}  // namespace

std::vector<TensorEnergy> tensor_energies(const TensorList& model, const TensorList* original,
                                          const TensorPatterns& patterns) {
  const Checkpoint in = checkpoint_of(model);
  std::optional<Checkpoint> against;
  if (original) against = checkpoint_of(*original, "original");
  const Selection selection = select_tensors(in, patterns_of(patterns), Purpose::convert);
  std::vector<TensorEnergy> all;
  Sums total;
  for (std::size_t i = 0; i < selection.chosen.size(); ++i) {
    if (!selection.chosen[i]) continue;
    const CheckpointTensor& t = in.tensors()[i];
    const Tensor x = in.load(t);
    const Weights w(x);
    Sums s = measure(t, x, w, {}, Device::cpu);
    if (against) compare(s, in, *against, t, x, w, Device::cpu);
    all.push_back(energy_of(t.name, s, original));
    total.add(s);
  }
  all.push_back(energy_of("", total, original));
  return all;
}

TensorEnergy tensor_energy(const Tensor& x, const Tensor* original) {
  const TensorInfo t = single(x, Purpose::convert);
  TensorList before;
  if (original) before.emplace_back(t.name, *original);
  return tensor_energies({{t.name, x}}, original ? &before : nullptr, {{pattern_of(t.name)}, {}})
      .back();
}

}  // namespace sten
