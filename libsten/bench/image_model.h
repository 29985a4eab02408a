// The convolutional models that sten-bench step and sten-bench model measure, by name.
#pragma once
#include "libsten/bench/bench.h"
#include "libsten/graph/graph.h"

namespace sten {

struct BenchImages {
  std::string name;  // "wrn-16-8", "resnet-50"
  Graph graph;       // from images "x" to logits, for training; see inference_graph()
  Index classes = 0;
  Index batch = 0, pixels = 0;  // images, and their height and width

  // [depth, width, images, pixels a side]: how reports name it.
  Shape shape;
  // Normal numbers, the same for the same seed: [batch, pixels, pixels, 3].
  Dense images(std::uint64_t seed) const;
};

// "wrn-DEPTH-WIDTH", a wide ResNet, or "resnet-DEPTH"; its first layer is CIFAR's where images have
// fewer than 64 pixels a side. --batch is 128 of wrn-10-1, else 32, and --window, the pixels a side,
// 32. Nothing for any other text; Error (usage) for a model that there is not.
std::optional<BenchImages> bench_images(const std::string& text, const BenchOptions& options);

// Weights of convolutions but the first: what is made sparse.
std::vector<std::string> convolution_weights(const Graph& g);

// Takes the shapes that are such models out of the options.
std::vector<BenchImages> take_images(BenchOptions& options);

}  // namespace sten
