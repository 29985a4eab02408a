// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/calibrated/layers_of_file.h"

#include <limits>
#include <map>

#include "libsten/core/base/error.h"
#include "libsten/programs/calibrated/statistics_file.h"
#include "libsten/programs/calibrated/weight_allocation.h"

namespace sten {
namespace {

class LayersOfFile final : public LayerSource {
 public:
  explicit LayersOfFile(const CalibrationRequest& r)
      : file_(r.options.statistics), in_(r.in), reordering_(r.reordering) {
    WeightAllocation allocation(r.options.allocate, r.sparsity);
    for (const CalibratedWeight& w : r.weights) {
      CalibratedOptions needed = w.how;
      needed.reconstruct |= allocation.needs_gram();
      file_.check(*w.tensor, needed);
      if (!allocation.is_wanted()) continue;
      allocation.add(w, r.load(*w.tensor), file_.read(*w.tensor, needed));
      file_.drop(*w.tensor);
    }
    allocation.settle();
    for (const CalibratedWeight& w : r.weights) how_.emplace(w.tensor->name, allocation.of(w));
  }
  CalibratedLayer prune(const CheckpointTensor& t, const Dense& x) override {
    const CalibratedOptions& how = how_.at(t.name);
    const auto i = static_cast<std::size_t>(in_.find(t.name) - in_.tensors().data());
    const InputStatistics inputs = reordering_.moved(i, file_.read(t, how));
    std::optional<Mask> mask = choose_layer(x, inputs, how);
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    CalibratedLayer layer = mask ? CalibratedLayer{{}, *std::move(mask), unknown, unknown}
                                 : prune_layer(x, inputs, how);
    file_.drop(t);
    return layer;
  }

 private:
  StatisticsFile file_;
  const Checkpoint& in_;
  const Reordering& reordering_;
  std::map<std::string, CalibratedOptions> how_;
};

}  // namespace

std::unique_ptr<LayerSource> layers_of_file(const CalibrationRequest& request) {
  return std::make_unique<LayersOfFile>(request);
}

}  // namespace sten
