// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a graph, as far as they are known before it runs.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "libsten/core/base/dtype.h"
#include "libsten/core/base/shape.h"

namespace sten {

struct GraphPort {
  struct Extent {
    std::optional<Index> size;  // none: any
    std::string symbol;         // such as "batch"; may be empty
  };
  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<Extent>> shape;  // none: unknown rank
};

// "[batch, 3]", with "?" for an extent without size and symbol; printable.
std::string shape_text(const std::vector<GraphPort::Extent>& shape);

}  // namespace sten
