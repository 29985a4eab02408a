// SPDX-License-Identifier: Apache-2.0
// Residual networks for images.
#pragma once
#include "libsten/model/nn/image_graph.h"

namespace sten {

struct ResNetConfig {
  Index depth = 18;  // 18 | 34 | 50 | 101 | 152
  Index classes = 1000;
  Index channels = 3;         // of the images
  Index width = 64;           // channels of the first stage
  bool small_images = false;  // for CIFAR: first layer 3x3 with stride 1, no pooling after it
};

// He et al. 2016, as in torchvision: names, shapes and initial values of weights, so that its files
// load, and strides at the 3x3 convolutions of bottlenecks. From images "x" [N, H, W, channels] to
// logits "fc" [N, classes], with batch norms in training mode; see inference_graph(). Error (usage)
// for another depth, or a size below 1.
Graph resnet(const ResNetConfig& config);

struct WideResNetConfig {
  Index depth = 28;  // 6n + 4
  Index width = 10;  // factor of the channels of a plain network
  Index classes = 10;
  Index channels = 3;  // of the images
  double dropout = 0;  // between the convolutions of a block
};

// Zagoruyko and Komodakis 2016, for small images such as CIFAR's, with the names of the common
// PyTorch implementation: conv1, block1.layer.0.bn1, ..., bn1, fc. Inputs and output as in
// resnet(), and "draw" with dropout.
Graph wide_resnet(const WideResNetConfig& config);

// Globs of tensors in PyTorch files besides these weights: the batch counts of batch norms. PyTorch
// loads files without them.
const std::vector<std::string>& image_model_unused();

}  // namespace sten
