// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/fastest_layouts.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>

#include "libsten/core/registry/registry.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("in_fastest_layouts() picks layouts that hold all values and keeps them bit-identical") {
  Dice dice(1);
  const Graph g({{"x"},
                 {{"sparse", {96, 64}}, {"full", {32, 96}}, {"image", {16, 8, 3, 3}}},
                 {{"a", "linear", {"x", "sparse"}}, {"b", "linear", {"a", "full"}}},
                 {"b"}});
  const Dense pruned = registry()
                           .prune(normals(dice, {96, 64}).to_dense(),
                                  Spec::parse("magnitude:sparsity=0.95"), Spec("dense"))
                           .to_dense();
  const NamedValues<Tensor> values{{"x", normals(dice, {256, 64})},
                                   {"sparse", pruned},
                                   {"full", normals(dice, {32, 96})},
                                   {"image", normals(dice, {16, 8, 3, 3})}};
  LayoutTimes times;
  const auto [chosen, choices] = in_fastest_layouts(g, values, {"sparse", "full", "image"}, times);
  CHECK(chosen.size() == 3);
  CHECK(chosen.at("full").layout() == "dense");
  CHECK(chosen.at("image").layout() == "dense");  // no node uses it
  // n:m layouts cannot hold all values.
  const std::string layout(chosen.at("sparse").layout());
  CHECK((layout == "dense" || layout == "csr"));
  for (const auto& [name, w] : chosen) {
    const Dense is = w.to_dense(), was = values.at(name).to_dense();
    CHECK(std::ranges::equal(is.values.bytes(), was.values.bytes()));
  }
}

TEST_CASE("known layout times decide the layout without another measurement") {
  Dice dice(2);
  const Graph g(
      {{"x"},
       {{"w", {64, 64}}, {"alike", {64, 64}}, {"v", {32, 64}}},
       {{"a", "linear", {"x", "w"}}, {"b", "linear", {"a", "alike"}}, {"c", "linear", {"b", "v"}}},
       {"c"}});
  const auto pruned = [&](const Shape& shape) {
    return registry().prune(normals(dice, shape).to_dense(), Spec::parse("nm:n=1,m=4"),
                            Spec("dense"));
  };
  const std::vector<std::string> names{"w", "alike", "v"};
  for (const Index tokens : {8, 70}) {
    const NamedValues<Tensor> values{{"x", normals(dice, {tokens, 64})},
                                     {"w", pruned({64, 64})},
                                     {"alike", pruned({64, 64})},
                                     {"v", pruned({32, 64})}};
    LayoutTimes times;
    const FastestLayouts first = in_fastest_layouts(g, values, names, times);
    REQUIRE(first.choices.size() == 3);
    CHECK(times.size() == 2);
    for (const LayoutChoice& c : first.choices) {
      CHECK(c.measured);
      CHECK(c.use.ends_with(fmt::format("; linear of {} tokens", tokens)));
      for (const char* layout : {"dense", "csr", "nm:n=1,m=4", "nm:n=2,m=4"})
        CHECK_MESSAGE(c.seconds.contains(layout), layout);
      for (const auto& time : c.seconds) {
        CHECK(time.second > 0);
        CHECK(c.seconds.at(c.layout) <= time.second);
      }
      CHECK(first.weights.at(c.weight).spec().str() == c.layout);
    }
    CHECK(first.choices[0].weight == "w");
    CHECK(first.choices[0].nodes == std::vector<std::string>{"a"});
    for (auto& known : times) known.second.at("csr") = 1e-12;
    const LayoutTimes was = times;
    const FastestLayouts second = in_fastest_layouts(g, values, names, times);
    CHECK(times == was);
    REQUIRE(second.choices.size() == 3);
    for (const LayoutChoice& c : second.choices) {
      CHECK_FALSE(c.measured);
      CHECK(c.layout == "csr");
      CHECK(second.weights.at(c.weight).layout() == "csr");
    }
  }
}

TEST_CASE("layout times are measured per number of tokens") {
  Dice dice(3);
  const Graph g({{"x"}, {{"w", {64, 64}}}, {{"y", "linear", {"x", "w"}}}, {"y"}});
  const Tensor w = registry().prune(normals(dice, {64, 64}).to_dense(),
                                    Spec::parse("magnitude:sparsity=0.9"), Spec("dense"));
  LayoutTimes times;
  for (const Index tokens : {8, 40, 8}) {
    const bool is_known = tokens == 8 && times.size() == 2;
    const auto fastest =
        in_fastest_layouts(g, {{"x", normals(dice, {tokens, 64})}, {"w", w}}, {"w"}, times);
    REQUIRE(fastest.choices.size() == 1);
    CHECK(fastest.choices.front().measured != is_known);
  }
  CHECK(times.size() == 2);
}

TEST_CASE("layout times are measured per precision and weight dtype") {
  Dice dice(4);
  const Graph g({{"x"}, {{"w", {64, 64}}}, {{"y", "linear", {"x", "w"}}}, {"y"}});
  const Dense w = registry()
                      .prune(normals(dice, {64, 64}).to_dense(),
                             Spec::parse("magnitude:sparsity=0.9"), Spec("dense"))
                      .to_dense();
  Dense low{w.extents, Values::uninitialized(DType::BF16, w.size())};
  std::ranges::transform(
      w.values.as<float>(), low.values.mutate<std::uint16_t>().begin(),
      [](float v) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(v) >> 16); });
  const Tensor x = normals(dice, {48, 64});
  LayoutTimes times;
  for (const bool again : {false, true})
    for (const Tensor& weight : {Tensor(w), Tensor(low)})
      for (const Precision p : {Precision::float32, Precision::bf16}) {
        const auto fastest =
            in_fastest_layouts(g, {{"x", x}, {"w", weight}}, {"w"}, times, {{"y", p}});
        REQUIRE(fastest.choices.size() == 1);
        CHECK(fastest.choices.front().measured != again);
        CHECK(fastest.choices.front().seconds.contains("csr"));
        CHECK(fastest.weights.at("w").dtype() == weight.dtype());
      }
  CHECK(times.size() == 4);
}
