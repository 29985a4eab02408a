// What graphs of convolutional models are built of: images x[N, H, W, C], channels last, and weights
// under the names and in the shapes of PyTorch's modules.
#pragma once
#include "libsten/graph/graph.h"

namespace sten {

// A node's, or an input's.
struct ImageValue {
  std::string name;
  Index channels = 0;
};

// Each member adds a node, and the weights that it needs.
class ImageGraph {
 public:
  explicit ImageGraph(Index channels);

  const ImageValue& input() const { return input_; }

  // With a square kernel, and half of it as padding: the size is divided by the stride, rounded up.
  // Layers have no bias. Weights begin normal by the outputs (He et al. 2015).
  ImageValue conv(const std::string& name, const ImageValue& x, Index outputs, Index kernel,
                  Index stride);
  // With running statistics; relu takes what is above 0 of it.
  ImageValue batch_norm(const std::string& name, const ImageValue& x, bool relu);
  // Each step drops others.
  ImageValue dropout(const std::string& name, const ImageValue& x, double p);
  ImageValue max_pool(const std::string& name, const ImageValue& x, Index kernel, Index stride);
  ImageValue relu(const std::string& name, const ImageValue& x);
  ImageValue add(const std::string& name, const ImageValue& a, const ImageValue& b);
  // The mean over each image, and a linear layer of that: logits [N, classes], the graph's output.
  // A bias begins as zeros, or as PyTorch's linear layers do.
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
