// SPDX-License-Identifier: Apache-2.0
// Builder of convolutional graphs: images x[N, H, W, C], channels last; weights with the names and
// shapes of PyTorch's modules.
#pragma once
#include "libsten/model/graph/graph.h"

namespace sten {

// A node or an input.
struct ImageValue {
  std::string name;
  Index channels = 0;
};

// Each member adds a node and its weights.
class ImageGraph {
 public:
  explicit ImageGraph(Index channels);

  const ImageValue& input() const { return input_; }

  // A convolution without bias: square kernel, padding kernel / 2, output size ceil(size / stride).
  // Initial weights are normal with fan-out (He et al. 2015).
  ImageValue conv(const std::string& name, const ImageValue& x, Index outputs, Index kernel,
                  Index stride);
  // Normalizes by the batch and updates running statistics; `relu` applies relu to the result.
  ImageValue batch_norm(const std::string& name, const ImageValue& x, bool relu);
  // Drops other elements in each step.
  ImageValue dropout(const std::string& name, const ImageValue& x, double p);
  ImageValue max_pool(const std::string& name, const ImageValue& x, Index kernel, Index stride);
  ImageValue relu(const std::string& name, const ImageValue& x);
  ImageValue add(const std::string& name, const ImageValue& a, const ImageValue& b);
  // The mean of each image and a linear layer: logits [N, classes], the output of the graph. The
  // initial bias is 0 (zero_bias) or that of PyTorch's Linear.
  Graph classifier(const std::string& pool, const std::string& name, const ImageValue& x,
                   Index classes, bool zero_bias) &&;

 private:
  ImageValue node(const std::string& name, const char* op, std::vector<std::string> inputs,
                  Index channels, Attributes attributes = {});
  std::string weight(std::string name, Shape shape, Spec init);

  GraphParts g_;
  ImageValue input_;
};

}  // namespace sten
