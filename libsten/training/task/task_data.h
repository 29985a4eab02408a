// SPDX-License-Identifier: Apache-2.0
// The examples of a training task, in batches and parts.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "libsten/model/graph/graph.h"

namespace sten {

// A part of a batch, computed at once.
struct BatchPart {
  NamedValues<Tensor> inputs;  // of the graph
  Index predictions = 0;
  Index number = 0;  // index among the parts of the batch
};

// Copies the inputs to a device.
BatchPart on_device(const BatchPart& part, Device device);

// The number of rows, windows or images.
Index rows_of(const BatchPart& part);

// Parts [begin, end) of a batch.
struct PartRange {
  Index begin = 0, end = 0;
  bool operator==(const PartRange&) const = default;
};

enum class DataSplit { train, validation, test };

std::string_view name_of(DataSplit s);

// The data of a task.
class TaskData {
 public:
  virtual ~TaskData() = default;
  virtual Index steps_per_epoch() const = 0;
  // Returns the parts that have predictions.
  virtual std::vector<BatchPart> batch(Index step, PartRange parts) const = 0;
  // The split in parts of evaluation.batch, each row once.
  virtual Index parts(DataSplit s) const = 0;
  virtual BatchPart part(DataSplit s, Index i) const = 0;
  // Hash of all rows.
  virtual std::uint64_t content() const = 0;
};

}  // namespace sten
