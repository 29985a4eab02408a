// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/calibrated/calibration_identity.h"

#include "libsten/core/base/hash.h"
#include "libsten/model/graph/graph_json.h"

namespace sten {
namespace {

class Hash {
 public:
  void add(std::span<const std::byte> bytes) { hash_ = hash_bytes(hash_, bytes); }
  void add(const std::string& text) { add(std::as_bytes(std::span(text))); }
  void add(const std::string& name, const Dense& x) {
    add(fmt::format("{} {} {}", name, name_of(x.dtype()), to_string(x.extents)));
    add(std::span(x.values.bytes().data(), x.values.bytes().size()));
  }
  std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 0;
};

}  // namespace

CalibrationIdentity identity_of(const CalibrationRequest& r, const Graph& graph,
                                const CalibrationInputs& inputs) {
  Hash model, data, options;
  model.add(to_json(graph));
  for (const CheckpointTensor& t : r.in.tensors()) {
    model.add(fmt::format("{} {} {}", t.name, name_of(t.dtype), to_string(t.shape)));
    for (const SafetensorsEntry& e : t.entries) model.add(r.in.bytes(t, e));
    r.in.drop(t);
  }
  for (const NamedValues<Tensor>& batch : inputs)
    for (const auto& [name, x] : batch) data.add(name, x.to_dense());
  options.add(fmt::format("{} {}", r.sparsity,
                          r.options.allocate ? name_of(*r.options.allocate) : std::string("none")));
  for (const CalibratedWeight& w : r.weights) {
    // If values are computed, the cache has activations of the dense model, too.
    options.add(fmt::format("{} {} {} {} {} {} {}", w.how.method, w.how.structure.str(),
                            w.how.by_row, w.how.transposed, w.how.reconstruct, w.how.damping,
                            computes_values(w.how)));
    options.add(w.tensor->name, r.load(*w.tensor));
    r.in.drop(*w.tensor);
  }
  return {model.text(), data.text(), options.text()};
}

}  // namespace sten
