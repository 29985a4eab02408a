// Residual networks for images.
#pragma once
#include "libsten/nn/image_graph.h"

namespace sten {

struct ResNetConfig {
  Index depth = 18;  // 18 | 34 | 50 | 101 | 152
  Index classes = 1000;
  Index channels = 3;         // of the images
  Index width = 64;           // channels of the first stage
  bool small_images = false;  // CIFAR's: a first layer of 3x3 and stride 1, and no pooling after it
};

// He et al. 2016, as torchvision has it: its names and shapes of weights, which make files of its
// models fit, its initial values, and strides at the 3x3 convolutions of bottlenecks. From images "x"
// [N, H, W, channels] to the logits "fc" [N, classes], with batch norms of training; see
// inference_graph(). Error (usage) for another depth, and for a size below 1.
Graph resnet(const ResNetConfig& config);

struct WideResNetConfig {
  Index depth = 28;  // 6n + 4
  Index width = 10;  // times as many channels as a plain one
  Index classes = 10;
  Index channels = 3;  // of the images
  double dropout = 0;  // between a block's convolutions
};

// Zagoruyko and Komodakis 2016, for images as small as CIFAR's, under the names of the PyTorch
// implementation that most use: conv1, block1.layer.0.bn1, ..., bn1, fc. Inputs and output as above,
// and "draw" with dropout.
Graph wide_resnet(const WideResNetConfig& config);

// What files of PyTorch have beside these weights: how many batches a norm has seen. A file without
// is as good to PyTorch.
const std::vector<std::string>& image_model_unused();

}  // namespace sten
