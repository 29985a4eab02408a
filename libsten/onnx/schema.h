// What each operator of ONNX takes: how many inputs, and which attributes with their ranges.
#pragma once
#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

#include "libsten/base/shape.h"
#include "libsten/io/onnx/model.h"

namespace sten {

struct OnnxAttributeRule {
  std::string_view name;
  OnnxAttributeType type;
  // Of an integer, and of each of several.
  Index least = std::numeric_limits<Index>::min();
  Index most = std::numeric_limits<Index>::max();
  // Of a float. Without both bounds it may be infinite, or NaN.
  float lowest = -std::numeric_limits<float>::infinity();
  float highest = std::numeric_limits<float>::infinity();
  std::string_view words{};  // of a string, separated by spaces; empty: any
  bool is_required = false;
  bool is_ignored = false;  // it changes nothing here
};

// The union of the operator's versions: an input that only some of them need is optional.
struct OnnxSchema {
  std::string_view op;
  std::size_t least_inputs, most_inputs;
  std::vector<OnnxAttributeRule> attributes{};  // one that changed its type has a rule for each
};

// Of every operator that has a translator; nullptr for others.
const OnnxSchema* find_onnx_schema(std::string_view op);

// Error for a node with more or fewer inputs, with an attribute that is unknown, given twice, missing,
// of another type, or out of its range.
void check_onnx_node(const OnnxNode& node, const OnnxSchema& schema);

}  // namespace sten
