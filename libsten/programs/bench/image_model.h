// SPDX-License-Identifier: Apache-2.0
// Convolutional models of sten-bench step and sten-bench model, by name.
#pragma once
#include "libsten/model/graph/graph.h"
#include "libsten/programs/bench/bench_options.h"

namespace sten {

struct BenchImages {
  std::string name;  // "wrn-16-8", "resnet-50"
  Graph graph;       // from images "x" to logits, for training; see inference_graph()
  Index classes = 0;
  Index batch = 0, pixels = 0;  // images, and their height and width

  // [depth, width, images, pixels per side], for reports.
  Shape shape;
  // Normal values [batch, pixels, pixels, 3], the same for the same seed.
  Dense images(std::uint64_t seed) const;
};

// Parses "wrn-DEPTH-WIDTH", a wide ResNet, or "resnet-DEPTH", whose first layer is that of CIFAR
// for fewer than 64 pixels per side. --batch is 128 for wrn-10-1, otherwise 32; --window, the
// pixels per side, is 32. None for other texts; Error (usage) for an unknown model.
std::optional<BenchImages> bench_images(const std::string& text, const BenchOptions& options);

// The weights of convolutions except the first one, which are made sparse.
std::vector<std::string> convolution_weights(const Graph& g);

// Removes the shapes that name such models from the options.
std::vector<BenchImages> take_images(BenchOptions& options);

}  // namespace sten
