// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/resnet.h"

namespace sten {
namespace {

// Norms precede convolutions. If the number of channels changes, the shortcut starts after the
// first norm.
ImageValue wide_block(ImageGraph& g, const std::string& name, const ImageValue& x, Index outputs,
                      Index stride, double dropout) {
  const ImageValue normed = g.batch_norm(name + ".bn1", x, true);
  ImageValue y = g.conv(name + ".conv1", normed, outputs, 3, stride);
  y = g.batch_norm(name + ".bn2", y, true);
  if (dropout > 0) y = g.dropout(name + ".dropout", y, dropout);
  y = g.conv(name + ".conv2", y, outputs, 3, 1);
  const ImageValue shortcut =
      x.channels == outputs ? x : g.conv(name + ".convShortcut", normed, outputs, 1, stride);
  return g.add(name + ".add", shortcut, y);
}

}  // namespace

Graph wide_resnet(const WideResNetConfig& c) {
  if (c.depth < 10 || (c.depth - 4) % 6 != 0)
    fail_usage("wide-resnet: expected a depth of 6n + 4 (10, 16, 28, 40), got {}", c.depth);
  if (c.classes < 1 || c.channels < 1 || c.width < 1)
    fail_usage("wide-resnet: classes, channels and width must be >= 1, got {}, {} and {}",
               c.classes, c.channels, c.width);
  ImageGraph g(c.channels);
  ImageValue x = g.conv("conv1", g.input(), 16, 3, 1);
  for (Index s = 0; s < 3; ++s)
    for (Index b = 0; b < (c.depth - 4) / 6; ++b)
      x = wide_block(g, fmt::format("block{}.layer.{}", s + 1, b), x, (16 << s) * c.width,
                     s > 0 && b == 0 ? 2 : 1, c.dropout);
  x = g.batch_norm("bn1", x, true);
  return std::move(g).classifier("avgpool", "fc", x, c.classes, true);
}

}  // namespace sten
