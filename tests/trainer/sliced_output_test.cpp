// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/sliced_output.h"

#include <doctest/doctest.h>

#include <limits>

#include "libsten/core/registry/registry.h"
#include "libsten/core/tensor/low_floats.h"
#include "libsten/training/task/predictions.h"
#include "tests/support/tensors.h"

using namespace sten;

namespace {

// `hidden` [..., 4] is the input of a linear layer to 10 classes; then come the other nodes.
Graph model(std::vector<Node> after) {
  GraphParts g{{"x"},
               {{"v", {4, 3}}, {"head", {10, 4}}, {"bias", {10}}},
               {{"hidden", "linear", {"x", "v"}}, {"y", "linear", {"hidden", "head", "bias"}}},
               {after.empty() ? "y" : after.back().name}};
  for (Node& n : after) g.nodes.push_back(std::move(n));
  return Graph(std::move(g));
}

NamedValues<Tensor> weights_of(const Graph& g) {
  NamedValues<Tensor> weights;
  testing::Dice dice(1);
  for (const Weight& w : g.weights())
    weights.emplace(w.name, rounded_to(DType::BF16, testing::normals(dice, w.shape)));
  return weights;
}

}  // namespace

TEST_CASE("slices of an output match the whole output") {
  const std::vector<Tensor> x = {testing::f32({2, 3}, {1, -2, 0.5F, 3, 0.25F, -1}),
                                 testing::f32({1, 3}, {4, 0, 1})};
  for (const std::vector<Node>& after :
       {std::vector<Node>{},
        {{"scaled", "scale", {"y"}, Attributes().set("by", 0.5)}, {"cap", "tanh", {"scaled"}}},
        {{"low", "cast", {"y"}, Attributes().set("to", std::string("BF16"))}}}) {
    const Graph g = model(after);
    CAPTURE(g.outputs().front());
    const NamedValues<Tensor> weights = weights_of(g);
    NamedValues<Tensor> wide = weights;
    for (auto& [name, w] : wide) w = widened(w);
    const SlicedOutput output(g, 4 * 4 * 3);
    REQUIRE(output.has_layer());
    CHECK(output.input() == g.number_of("hidden"));
    std::vector<Tensor> hidden;
    std::vector<std::vector<float>> whole;
    for (const Tensor& each : x) {
      hidden.push_back(apply("linear", {each, wide.at("v")}));
      whole.push_back(
          testing::floats(widened(g.run<Tensor>(wide, {{"x", each}}).begin()->second).to_dense()));
    }
    std::vector<std::size_t> batches;
    Index classes = 0;
    output.run([&](const std::string& name) { return weights.at(name); }, hidden,
               [&](std::size_t b, const Dense& slice) {
                 batches.push_back(b);
                 const Index n = slice.extents.back();
                 for (Index r = 0; r < slice.extents[0]; ++r)
                   for (Index c = 0; c < n; ++c)
                     CHECK(slice.values.as<float>()[r * n + c] ==
                           doctest::Approx(whole[b][r * 10 + classes + c]).epsilon(1e-5));
                 if (b == 1) classes += n;
               });
    CHECK(classes == 10);
    CHECK(batches == std::vector<std::size_t>{0, 1, 0, 1, 0, 1, 0, 1});
  }
}

TEST_CASE("outputs after a softmax or of a sparse layer are not sliced") {
  const Graph g = model({{"sum", "softmax", {"y"}}});
  const SlicedOutput softmax(g);
  CHECK_FALSE(softmax.has_layer());
  CHECK(softmax.input() == g.number_of("sum"));
  const Graph linear = model({});
  NamedValues<Tensor> weights = weights_of(linear);
  for (auto& [name, w] : weights) w = widened(w);
  const Tensor x = testing::f32({1, 4}, {1, 2, 3, 4});
  const Dense whole = apply("linear", {x, weights.at("head"), weights.at("bias")}).to_dense();
  weights.at("head") =
      registry().pack(weights.at("head").to_dense(), Mask::all({10, 4}), Spec("csr"));
  int slices = 0;
  SlicedOutput(linear, 16)
      .run([&](const std::string& name) { return weights.at(name); }, {x},
           [&](std::size_t, const Dense& slice) {
             ++slices;
             for (Index c = 0; c < 10; ++c)
               CHECK(slice.values.as<float>()[c] == doctest::Approx(whole.values.as<float>()[c]));
           });
  CHECK(slices == 1);
}

TEST_CASE("predictions accumulated over slices match the predictions over all classes") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Dense labels = Dense::zeros(DType::I64, {6});
  std::ranges::copy(std::vector<std::int64_t>{0, 3, 2, ignored_label, 2, 3},
                    labels.values.mutate<std::int64_t>().begin());
  const std::vector<std::vector<float>> rows{{5, 1, 2, 3},        {-200, 100, 0, 100},
                                             {-inf, -inf, 1, -2}, {nan, 0, 0, 0},
                                             {0.5F, 4, 4, -1},    {1, 2, 3, 300}};
  std::vector<float> all, first, last;
  for (const auto& r : rows) {
    all.insert(all.end(), r.begin(), r.end());
    first.insert(first.end(), r.begin(), r.begin() + 2);
    last.insert(last.end(), r.begin() + 2, r.end());
  }
  const PredictionSums whole = predictions_of(testing::f32({6, 4}, all), labels);
  SlicedPredictions sliced(labels);
  sliced.add(testing::f32({6, 2}, first));
  sliced.add(testing::f32({6, 2}, last));
  CHECK(sliced.sums().loss == doctest::Approx(whole.loss));
  CHECK(sliced.sums().hits == whole.hits);
  CHECK(whole.hits == 3);
  CHECK(sliced.sums().count == 5);
}
