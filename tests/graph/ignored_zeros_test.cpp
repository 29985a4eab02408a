// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/graph/ignored_zeros.h"

#include <doctest/doctest.h>

#include "libsten/core/registry/registry.h"
#include "libsten/core/registry/route.h"
#include "libsten/core/tensor/low_floats.h"
#include "libsten/model/execution/executor.h"
#include "libsten/model/execution/fastest_layouts.h"
#include "libsten/model/graph/nonzeros.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

Tensor pruned(Dice& dice, const Shape& shape, const char* sparsifier, const char* layout) {
  const Tensor w =
      registry().prune(normals(dice, shape).to_dense(), Spec::parse(sparsifier), Spec("dense"));
  return convert(w, Spec::parse(layout));
}

}  // namespace

TEST_CASE("the share of nonzeros is right for dense and csr weights in F32, BF16 and F16") {
  const Dense w = f32({2, 4}, {1, 0, -0.0F, 2, 0, 3, 0, 0});
  for (const DType dtype : {DType::F32, DType::BF16, DType::F16})
    for (const char* layout : {"dense", "csr"})
      CHECK(share_of_nonzeros(convert(rounded_to(dtype, w), Spec::parse(layout))) == 0.375);
  CHECK(share_of_nonzeros(Dense::zeros(DType::F32, {0, 4})) == 0);
}

TEST_CASE("zeros of dense and masked linear weights and of grouped convolutions count as ignored") {
  Dice dice(1);
  const char* some = "magnitude:sparsity=0.9";
  const Graph g({{"ids", "image"},
                 {{"table", {32, 64}},
                  {"dense", {64, 64}},
                  {"masked", {64, 64}},
                  {"csr", {64, 64}},
                  {"full", {64, 64}},
                  {"odd", {8, 27}},
                  {"grouped", {8, 4, 3, 3}},
                  {"conv", {8, 8, 3, 3}}},
                 {{"e", "embedding", {"table", "ids"}},
                  {"a", "linear", {"e", "dense"}},
                  {"b", "linear", {"a", "masked"}},
                  {"c", "linear", {"b", "csr"}},
                  {"d", "linear", {"c", "full"}},
                  {"g", "conv", {"image", "grouped"}, Attributes().set("groups", 2)},
                  {"v", "conv", {"image", "conv"}}},
                 {"d", "g", "v"}});
  const NamedValues<Tensor> values{{"table", pruned(dice, {32, 64}, some, "dense")},
                                   {"dense", pruned(dice, {64, 64}, some, "dense")},
                                   {"masked", pruned(dice, {64, 64}, some, "masked")},
                                   {"csr", pruned(dice, {64, 64}, some, "csr")},
                                   {"full", normals(dice, {64, 64})},
                                   {"odd", normals(dice, {8, 27})},
                                   {"grouped", pruned(dice, {8, 4, 3, 3}, some, "csr")},
                                   {"conv", pruned(dice, {8, 8, 3, 3}, some, "csr")}};
  Index sparse = 0;
  const std::vector<IgnoredZeros> ignored = ignored_zeros(g, values, &sparse);
  std::vector<std::string> names;
  for (const IgnoredZeros& i : ignored) names.push_back(i.weight);
  CHECK(names == std::vector<std::string>{"dense", "masked", "grouped"});
  CHECK(sparse == 5);
  CHECK(ignored.back().op == "conv");
  CHECK(ignored.back().layout == "csr");
  CHECK(describe(ignored, sparse) ==
        "conv, linear ignore the zeros of 3 of 5 sparse weights (1 in csr, 1 in dense, 1 in "
        "masked)");
  CHECK(describe({}, sparse).empty());
}

TEST_CASE("known_choices() uses known layout times without a measurement") {
  Dice dice(2);
  const Graph g({{"x"},
                 {{"w", {64, 64}}, {"v", {64, 64}}},
                 {{"a", "linear", {"x", "w"}}, {"b", "linear", {"a", "v"}}},
                 {"b"}});
  const Tensor w = pruned(dice, {64, 64}, "magnitude:sparsity=0.9", "csr");
  const NamedValues<Tensor> values{{"x", normals(dice, {8, 64})}, {"w", w}, {"v", w}};
  Executor run(g, {{"w", w}, {"v", w}});
  run.run({{"x", values.at("x")}});
  CHECK(known_choices(g, values, {"w", "v"}, {}, run.plan()).empty());
  LayoutTimes times;
  in_fastest_layouts(g, values, {"w", "v"}, times);
  REQUIRE(times.size() == 1);
  times.begin()->second = {{"csr", 3}, {"dense", 2}};
  const auto known = known_choices(g, values, {"w", "v"}, times, run.plan());
  REQUIRE(known.size() == 2);
  CHECK(known[0].layout == "dense");
  CHECK_FALSE(known[0].measured);
  CHECK(*slowdown(known[0], "csr") == 1.5);
  CHECK_FALSE(slowdown(known[0], "dense"));
  CHECK_FALSE(slowdown(known[0], "nm:n=2,m=4"));
  // A difference within measurement noise is no slowdown; other token counts have no times.
  times.begin()->second = {{"csr", 2.02}, {"dense", 2}};
  CHECK_FALSE(slowdown(known_choices(g, values, {"w"}, times, run.plan())[0], "csr"));
  run.run({{"x", normals(dice, {40, 64})}});
  CHECK(known_choices(g, values, {"w", "v"}, times, run.plan()).empty());
}

TEST_CASE("layouts measured for a sparse weight of a grouped convolution include dense") {
  Dice dice(3);
  const Graph g({{"x"},
                 {{"w", {8, 4, 3, 3}}},
                 {{"y", "conv", {"x", "w"}, Attributes().set("groups", 2)}},
                 {"y"}});
  const Tensor w = pruned(dice, {8, 4, 3, 3}, "magnitude:sparsity=0.9", "csr");
  LayoutTimes times;
  const auto fastest =
      in_fastest_layouts(g, {{"x", normals(dice, {1, 8, 8, 8})}, {"w", w}}, {"w"}, times);
  REQUIRE(fastest.choices.size() == 1);
  CHECK(fastest.choices[0].seconds.contains("dense"));
}
