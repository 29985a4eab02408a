// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/task/task_data.h"

namespace sten {

std::string_view name_of(DataSplit s) {
  return s == DataSplit::train ? "train" : s == DataSplit::validation ? "validation" : "test";
}

// Copies small tensors as one block.
BatchPart on_device(const BatchPart& part, Device device) {
  constexpr std::size_t small = std::size_t{1} << 16, apart = 256;
  BatchPart device_part = part;
  struct Segment {
    Tensor* x;
    std::size_t at;
  };
  std::vector<Segment> pieces;
  std::size_t bytes = 0;
  for (auto& [name, x] : device_part.inputs) {
    const bool is_packed = device != Device::cpu && x.device() == Device::cpu && x.is<Dense>() &&
                           x.bytes() > 0 && x.bytes() <= small;
    if (!is_packed) {
      x = x.to(device);
      continue;
    }
    pieces.push_back({&x, bytes});
    bytes += (x.bytes() + apart - 1) / apart * apart;
  }
  if (pieces.empty()) return device_part;
  Array<std::byte> all(bytes);
  for (const Segment& p : pieces) std::ranges::copy(p.x->values()->bytes(), all.mutate() + p.at);
  const auto memory = std::make_shared<const Array<std::byte>>(all.to(device));
  for (const Segment& p : pieces) {
    const Dense& x = p.x->as<Dense>();
    *p.x = Dense{x.extents,
                 Values(x.dtype(), Array<std::byte>::borrow(memory, memory->data() + p.at,
                                                            x.values.bytes().size(), device))};
  }
  return device_part;
}

// Some inputs are one row for all rows, and inputs of one axis can be positions of predictions.
Index rows_of(const BatchPart& part) {
  for (const std::size_t axes : {2, 1}) {
    Index rows = 0;
    for (const auto& [name, x] : part.inputs)
      if (x.shape().size() >= axes) rows = std::max(rows, x.shape().front());
    if (rows > 0) return rows;
  }
  return 0;
}

}  // namespace sten
