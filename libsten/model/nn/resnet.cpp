// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/resnet.h"

#include <array>

namespace sten {
namespace {

struct ResNetPlan {
  Index depth;
  std::array<Index, 4> blocks;
  bool bottleneck;
};
constexpr ResNetPlan plans[] = {{18, {2, 2, 2, 2}, false},
                                {34, {3, 4, 6, 3}, false},
                                {50, {3, 4, 6, 3}, true},
                                {101, {3, 4, 23, 3}, true},
                                {152, {3, 8, 36, 3}, true}};

const ResNetPlan& plan_of(Index depth) {
  for (const ResNetPlan& p : plans)
    if (p.depth == depth) return p;
  fail_usage("resnet: unknown depth {} (expected 18, 34, 50, 101 or 152)", depth);
}

// Two convolutions, or three of which the outer ones are 1x1, with `outputs` channels.
ImageValue residual_block(ImageGraph& g, const std::string& name, const ImageValue& x, Index width,
                          Index outputs, Index stride, bool bottleneck) {
  const auto layer = [&](const char* number, const ImageValue& of, Index channels, Index kernel,
                         Index step, bool relu) {
    const ImageValue y = g.conv(name + ".conv" + number, of, channels, kernel, step);
    return g.batch_norm(name + ".bn" + number, y, relu);
  };
  ImageValue y = layer("1", x, width, bottleneck ? 1 : 3, bottleneck ? 1 : stride, true);
  y = layer("2", y, width, 3, bottleneck ? stride : 1, bottleneck);
  if (bottleneck) y = layer("3", y, outputs, 1, 1, false);
  ImageValue shortcut = x;
  if (stride != 1 || x.channels != outputs) {
    shortcut = g.conv(name + ".downsample.0", x, outputs, 1, stride);
    shortcut = g.batch_norm(name + ".downsample.1", shortcut, false);
  }
  return g.relu(name + ".relu", g.add(name + ".add", y, shortcut));
}

}  // namespace

Graph resnet(const ResNetConfig& c) {
  const ResNetPlan& plan = plan_of(c.depth);
  if (c.classes < 1 || c.channels < 1 || c.width < 1)
    fail_usage("resnet: classes, channels and width must be >= 1, got {}, {} and {}", c.classes,
               c.channels, c.width);
  ImageGraph g(c.channels);
  ImageValue x =
      g.conv("conv1", g.input(), c.width, c.small_images ? 3 : 7, c.small_images ? 1 : 2);
  x = g.batch_norm("bn1", x, true);
  if (!c.small_images) x = g.max_pool("maxpool", x, 3, 2);
  Index width = c.width;
  for (std::size_t s = 0; s < plan.blocks.size(); ++s, width *= 2)
    for (Index b = 0; b < plan.blocks[s]; ++b)
      x = residual_block(g, fmt::format("layer{}.{}", s + 1, b), x, width,
                         plan.bottleneck ? 4 * width : width, s > 0 && b == 0 ? 2 : 1,
                         plan.bottleneck);
  return std::move(g).classifier("avgpool", "fc", x, c.classes, false);
}

const std::vector<std::string>& image_model_unused() {
  static const std::vector<std::string> globs{"*.num_batches_tracked"};
  return globs;
}

}  // namespace sten
