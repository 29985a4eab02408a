// Layers of a checkpoint that are pruned by what goes into them: as a file of statistics says, or the
// model itself on data.
#pragma once
#include <functional>
#include <memory>

#include "libsten/calibrate/layer.h"
#include "libsten/io/checkpoint.h"
#include "libsten/run/prune.h"
#include "libsten/run/reorder.h"

namespace sten {

// One of the weights that are pruned so.
struct CalibratedWeight {
  const CheckpointTensor* tensor = nullptr;
  CalibratedOptions how;
};

class LayerSource {
 public:
  virtual ~LayerSource() = default;
  // Of tensor t, which is among those that the source was made for, and whose values are x; once. Its
  // weights are empty where what stays keeps its values.
  virtual CalibratedLayer prune(const CheckpointTensor& t, const Dense& x) = 0;
  // Sentences about what was measured.
  virtual std::vector<std::string> notes() const { return {}; }
};

// Of --statistics or --calibrate. `load` gives the values of a tensor of the checkpoint `in`, as they
// are ranked and in the order of `reordering`, which the file and the model on data do not have.
// Error where there is nothing to know of one of the weights.
std::unique_ptr<LayerSource> layer_source(const PruneOptions& options,
                                          std::vector<CalibratedWeight> weights,
                                          const Checkpoint& in, const Reordering& reordering,
                                          const std::function<Dense(const TensorInfo&)>& load);

}  // namespace sten
