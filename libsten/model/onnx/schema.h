// SPDX-License-Identifier: Apache-2.0
// Schemas of ONNX operators: number of inputs, and attributes with their ranges.
#pragma once
#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

#include "libsten/core/base/shape.h"
#include "libsten/files/onnx/model.h"

namespace sten {

struct OnnxAttributeRule {
  std::string_view name;
  OnnxAttributeType type;
  // Bounds of an integer, or of each integer of a list.
  Index least = std::numeric_limits<Index>::min();
  Index most = std::numeric_limits<Index>::max();
  // Bounds of a float. Without bounds it may be infinite or NaN.
  float lowest = -std::numeric_limits<float>::infinity();
  float highest = std::numeric_limits<float>::infinity();
  std::string_view words{};  // allowed strings, separated by spaces; empty: any
  bool is_required = false;
  bool is_ignored = false;  // has no effect here
};

// The union of the operator's versions: an input that only some versions require is optional.
struct OnnxSchema {
  std::string_view op;
  std::size_t least_inputs, most_inputs;
  std::vector<OnnxAttributeRule> attributes{};  // a rule per type of an attribute
};

// The schema of an operator with a translator; nullptr for others.
const OnnxSchema* find_onnx_schema(std::string_view op);

// Error for a wrong number of inputs, and for an attribute that is unknown, duplicate, missing, of
// another type or out of range.
void check_onnx_node(const OnnxNode& node, const OnnxSchema& schema);

}  // namespace sten
