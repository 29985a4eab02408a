// SPDX-License-Identifier: Apache-2.0
// Modules of the program that an ONNX graph was exported from.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "libsten/files/onnx/output_heads.h"

namespace sten {

class OnnxModules {
 public:
  // Borrows from graph and nodes.
  OnnxModules(const OnnxGraph& graph, const OnnxNodes& nodes);

  // The name of a layer's weight before the export, such as "encoder.0.query.weight"; "" if
  // unknown. Derived from, in this order: the node's name "/encoder/0/query/MatMul"; PyTorch's
  // metadata; the bias "encoder.0.query.bias" that is added to the layer's result.
  std::string weight_of(const OnnxNode& layer) const;

 private:
  std::unordered_map<std::string_view, std::string_view> bias_of_;  // by the value it is added to
};

}  // namespace sten
