// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include "libsten/training/trainer/memory.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

using List = Attributes::List;

Dense list_of_numbers(const std::vector<std::int64_t>& v) {
  Dense x = Dense::zeros(DType::I64, {std::ssize(v)});
  std::ranges::copy(v, x.values.mutate<std::int64_t>().begin());
  return x;
}

// A head of a model: a reshape whose shape is computed from the input's.
GraphParts movements() {
  const auto axis = [](Index a) { return Attributes().set("axis", a); };
  return {{"x"},
          {{"w", {6, 8}}},
          {{"h", "linear", {"x", "w"}},
           {"shape", "shape", {"x"}},
           {"rows", "gather", {"shape", "first"}},
           {"target", "concat", {"rows", "tail"}},
           {"split", "reshape", {"h", "target"}},
           {"turned", "transpose", {"split"}, Attributes().set("axes", List{0, 2, 1, 3})},
           {"keys", "transpose", {"turned"}},
           {"scores", "matmul", {"turned", "keys"}},
           {"largest", "reduce-max", {"scores"}, Attributes().set("axes", List{-1})},
           {"part", "slice", {"scores"}, axis(3).set("begin", 1)},
           {"padded", "pad", {"part"}, Attributes().set("pads", List{0, 0, 0, 0, 0, 0, 1, 2})},
           {"above", "greater", {"padded", "padded"}},
           {"place", "arg-max", {"padded"}, axis(1)},
           {"wide", "expand", {"largest"}, Attributes().set("shape", List{3, 1, 1, 1})}},
          {"wide"},
          {{"first", list_of_numbers({0, 1})}, {"tail", list_of_numbers({2, 3})}}};
}

}  // namespace

TEST_CASE("value_bytes reports total and largest bytes of the values that a run computes") {
  GraphParts parts = movements();
  const NamedValues<Tensor> inputs{{"x", Dense::zeros(DType::F32, {2, 5, 8})}};
  const ValueBytes found = value_bytes(Graph(parts), inputs);
  parts.outputs.clear();
  for (const Node& n : parts.nodes) parts.outputs.push_back(n.name);
  const Graph all(parts);
  Index sum = 0, largest = 0;
  for (const auto& [name, y] : all.run<Tensor>(initial_weights(all, 1), inputs)) {
    const Index bytes = y.as<Dense>().values.bytes().size();
    largest = std::max(largest, bytes);
    if (name != "split") sum += bytes;  // which shares h's
  }
  CHECK(found.all == sum);
  CHECK(found.largest == largest);
}

TEST_CASE("value_bytes counts a value until the last use of the value or its views") {
  const auto passing = [](std::vector<Node> nodes) {
    const Graph g({{"x"}, {}, std::move(nodes), {"y"}});
    return value_bytes(g, {{"x", Dense::zeros(DType::F32, {4, 25})}}).passing;
  };
  const Attributes flat = Attributes().set("shape", List{-1});
  CHECK(passing({{"a", "relu", {"x"}},
                 {"b", "relu", {"a"}},
                 {"c", "relu", {"b"}},
                 {"y", "relu", {"c"}}}) == 800);
  // The same through views, which take no memory.
  CHECK(passing({{"a", "relu", {"x"}},
                 {"v", "reshape", {"a"}, flat},
                 {"b", "relu", {"v"}},
                 {"u", "identity", {"b"}},
                 {"y", "relu", {"u"}}}) == 800);
  CHECK(passing({{"a", "relu", {"x"}},
                 {"v", "reshape", {"a"}, flat},
                 {"b", "relu", {"v"}},
                 {"c", "relu", {"b"}},
                 {"y", "add", {"c", "v"}}}) == 1200);
}
