// The modules of a program that an ONNX graph was exported from.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "libsten/io/onnx/output_heads.h"

namespace sten {

class OnnxModules {
 public:
  // Borrows from both.
  OnnxModules(const OnnxGraph& graph, const OnnxNodes& nodes);

  // The name that a layer's weight had, by the first of these that says it: a node called
  // "/encoder/0/query/MatMul", PyTorch's metadata, or a bias "encoder.0.query.bias" that is added to
  // the layer's result; so "encoder.0.query.weight". Otherwise "".
  std::string weight_of(const OnnxNode& layer) const;

 private:
  std::unordered_map<std::string_view, std::string_view> bias_of_;  // by the value it is added to
};

}  // namespace sten
