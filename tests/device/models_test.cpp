// SPDX-License-Identifier: Apache-2.0
// Models on a tape on a device: loss and gradients equal the CPU's, without a fallback.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/core/base/fallback.h"
#include "libsten/model/graph/dropout.h"
#include "libsten/model/nn/causal_model.h"
#include "libsten/model/nn/gpt.h"
#include "libsten/model/nn/resnet.h"
#include "tests/device/serial_backend.h"
#include "tests/support/small_bert.h"
#include "tests/support/strict.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// The loss, and the gradients of the weights that have one. `loss_of` gets the weights.
template <class F>
std::vector<Tensor> gradients_on(Device where, const Graph& g, F&& loss_of) {
  Tape tape;
  NamedValues<Var> weights;
  std::vector<Var> trained;
  for (const auto& [name, w] : initial_weights(g, 4)) {
    const bool is_trained = !g.is_statistic(name);
    const Var v = is_trained ? tape.parameter(w.to(where)) : Var(w.to(where));
    weights.emplace(name, v);
    if (is_trained) trained.push_back(v);
  }
  const Var loss = loss_of(weights);
  tape.backward(loss, Tensor(f32({}, {1})).to(where));
  std::vector<Tensor> all{loss.value()};
  for (const Var& v : trained)
    if (v.grad()) all.push_back(*v.grad());
  return all;
}

// Rounding errors of many layers add up.
template <class F>
void check_model(const Graph& g, F&& loss_on) {
  const auto all_on = [&](Device where) {
    return gradients_on(where, g, [&](const NamedValues<Var>& w) { return loss_on(w, where); });
  };
  const std::vector<Tensor> here = all_on(Device::cpu), on_device = all_on(Device::cuda);
  REQUIRE(here.size() == on_device.size());
  double all = 0, apart = 0;
  for (std::size_t i = 0; i < here.size(); ++i) {
    CHECK(on_device[i].device() == Device::cuda);
    const std::vector<float> x = floats(here[i].to_dense()),
                             y = floats(on_device[i].to(Device::cpu).to_dense());
    REQUIRE(x.size() == y.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
      all += double{x[k]} * x[k];
      apart += (double{x[k]} - y[k]) * (double{x[k]} - y[k]);
    }
  }
  CHECK(std::isfinite(all));
  CHECK(std::sqrt(apart) <= 1e-5 * std::sqrt(all));
}

NamedValues<Var> values_on(Device where, const NamedValues<Tensor>& values) {
  NamedValues<Var> all;
  for (const auto& [name, v] : values) all.emplace(name, v.to(where));
  return all;
}

void check_images(const Graph& g, const Shape& shape) {
  Dice dice(1);
  NamedValues<Tensor> in{{"x", normals(dice, shape)}};
  if (g.inputs().size() > 1) in.emplace(draw_input, Dense::zeros(DType::I64, {}));
  Dense labels = Dense::zeros(DType::I64, {shape[0]});
  labels.values.mutate<std::int64_t>()[1] = 3;
  check_model(g, [&](const NamedValues<Var>& w, Device where) {
    const Var logits = g.run<Var>(w, values_on(where, in)).at("fc");
    return cross_entropy(logits, Var(Tensor(labels).to(where)));
  });
}

}  // namespace

TEST_CASE("a BERT's loss and gradients on a device match the CPU's without a fallback") {
  const SerialDevice device;
  const Strict strict;
  const Graph g = bert(small_bert(), {.mask = true, .loss = true});
  NamedValues<Tensor> in = bert_values(2, 16, true);
  Dense labels = Dense::zeros(DType::I64, {2, 16});
  for (Index i = 0; i < 32; ++i) labels.values.mutate<std::int64_t>()[i] = i % 3 ? -100 : i;
  in.emplace("labels", labels);
  check_model(g, [&](const NamedValues<Var>& w, Device where) {
    return g.run<Var>(w, values_on(where, in)).at("loss");
  });
}

TEST_CASE("losses and gradients of decoders on a device match the CPU's without a fallback") {
  const SerialDevice device;
  const Strict strict;
  for (const std::string type : {"llama", "gemma2", "gemma3", "phi3", "gpt_neox", "qwen3"}) {
    CAPTURE(type);
    std::stringstream config;
    config << std::ifstream(STEN_SOURCE_DIR "/tests/nn/decoders/" + type + "/config.json").rdbuf();
    const CausalModel m = causal_model(config.str(), type, {.mask = true, .loss = true});
    Dense ids = Dense::zeros(DType::I64, {2, 12}), seen = ids, labels = ids;
    for (Index i = 0; i < ids.size(); ++i) {
      ids.values.mutate<std::int64_t>()[i] = (i * 7919 + i / 3) % m.vocabulary;
      labels.values.mutate<std::int64_t>()[i] = i % 5 ? i % m.vocabulary : -100;
      seen.values.mutate<std::int64_t>()[i] = i != 12;  // the second text has one token less
    }
    NamedValues<Tensor> in = gpt_inputs(ids);
    in.emplace("attention_mask", seen);
    in.emplace("labels", labels);
    check_model(m.graph, [&](const NamedValues<Var>& w, Device where) {
      return m.graph.run<Var>(w, values_on(where, in)).at("loss");
    });
  }
}

TEST_CASE("losses and gradients of ResNets on a device match the CPU's without a fallback") {
  const SerialDevice device;
  const Strict strict;
  check_images(wide_resnet({.depth = 10, .width = 1}), {2, 16, 16, 3});
  check_images(resnet({.depth = 18, .width = 4}), {3, 64, 64, 3});
}
