// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/image_graph.h"

#include <cmath>

#include "libsten/model/graph/dropout.h"
#include "libsten/model/nn/layers.h"

namespace sten {
namespace {

Attributes image_windows(Index kernel, Index stride) {
  const Index pad = kernel / 2;
  return Attributes()
      .set("strides", Attributes::List{stride, stride})
      .set("pads", Attributes::List{pad, pad, pad, pad});
}

}  // namespace

ImageGraph::ImageGraph(Index channels) : input_{"x", channels} { g_.inputs = {input_.name}; }

ImageValue ImageGraph::conv(const std::string& name, const ImageValue& x, Index outputs,
                            Index kernel, Index stride) {
  const double fan = static_cast<double>(outputs) * static_cast<double>(kernel * kernel);
  const std::string w = weight(name + ".weight", {outputs, x.channels, kernel, kernel},
                               Spec("normal").set("std", fmt::format("{}", std::sqrt(2 / fan))));
  return node(name, "conv", {x.name, w}, outputs, image_windows(kernel, stride));
}

ImageValue ImageGraph::batch_norm(const std::string& name, const ImageValue& x, bool relu) {
  const Shape shape{x.channels};
  const std::string gamma = weight(name + ".weight", shape, Spec("ones"));
  const std::string beta = weight(name + ".bias", shape, Spec("zeros"));
  const std::string mean = weight(name + ".running_mean", shape, Spec("zeros"));
  const std::string variance = weight(name + ".running_var", shape, Spec("ones"));
  const std::string moments =
      node(name + ".moments", "batch-moments", {x.name}, 0, Attributes().set("sample", Index{1}))
          .name;
  g_.statistics.push_back({moments, mean, variance});
  return node(name, "batch-norm-train", {x.name, gamma, beta}, x.channels,
              relu ? Attributes().set("relu", Index{1}) : Attributes());
}

ImageValue ImageGraph::dropout(const std::string& name, const ImageValue& x, double p) {
  return {add_dropout(g_, name, x.name, p), x.channels};
}

ImageValue ImageGraph::max_pool(const std::string& name, const ImageValue& x, Index kernel,
                                Index stride) {
  return node(name, "max-pool", {x.name}, x.channels,
              image_windows(kernel, stride).set("kernel", Attributes::List{kernel, kernel}));
}

ImageValue ImageGraph::relu(const std::string& name, const ImageValue& x) {
  return node(name, "relu", {x.name}, x.channels);
}

ImageValue ImageGraph::add(const std::string& name, const ImageValue& a, const ImageValue& b) {
  return node(name, "add", {a.name, b.name}, a.channels);
}

Graph ImageGraph::classifier(const std::string& pool, const std::string& name, const ImageValue& x,
                             Index classes, bool zero_bias) && {
  const ImageValue mean =
      node(pool, "mean", {x.name}, x.channels,
           Attributes().set("axes", Attributes::List{1, 2}).set("keep", Index{0}));
  const Spec uniform = uniform_for(x.channels);
  const std::string w = weight(name + ".weight", {classes, x.channels}, uniform);
  const std::string b = weight(name + ".bias", {classes}, zero_bias ? Spec("zeros") : uniform);
  g_.outputs = {node(name, "linear", {mean.name, w, b}, classes).name};
  return Graph(std::move(g_));
}

ImageValue ImageGraph::node(const std::string& name, const char* op,
                            std::vector<std::string> inputs, Index channels,
                            Attributes attributes) {
  g_.nodes.push_back({name, op, std::move(inputs), std::move(attributes)});
  return {name, channels};
}

std::string ImageGraph::weight(std::string name, Shape shape, Spec init) {
  g_.weights.push_back({name, std::move(shape), std::move(init)});
  return name;
}

}  // namespace sten
