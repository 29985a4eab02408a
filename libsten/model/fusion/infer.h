// SPDX-License-Identifier: Apache-2.0
// Rules of shape inference. A rule derives dtype and shape of a node's value from its inputs.
// Properties that it does not set stay unknown, which only prevents fusions.
#pragma once
#include <algorithm>
#include <map>
#include <string_view>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/model/fusion/graph_builder.h"

namespace sten {

// A node and its inputs.
struct Inference {
  GraphBuilder& builder;
  const BuilderNode& node;
  BuilderValue out;

  std::size_t inputs() const { return node.in.size(); }
  const BuilderValue& in(std::size_t i) const {
    if (i >= inputs()) fail("missing input {}", i);
    return builder[node.in[i]];
  }
  bool has_shapes() const {
    return std::ranges::all_of(node.in, [&](ValueRef r) { return builder[r].shape.has_value(); });
  }
  const ExtentList& shape(std::size_t i) const { return *in(i).shape; }
  // Attribute `name`, or the known integers of input i; none if the input is unknown.
  std::optional<std::vector<Index>> list(std::size_t i, std::string_view name) const {
    if (i >= inputs()) return node.attributes.list(name, {});
    if (!in(i).elements) return {};
    Shape known;
    if (!all_known(*in(i).elements, known)) return {};
    return known;
  }
  // The position of an axis among `rank`. Error if out of range.
  std::size_t axis(Index a, std::size_t rank) const {
    const Index n = static_cast<Index>(rank), d = a < 0 ? a + n : a;
    if (d < 0 || d >= n) fail("axis {} is out of range for {} axes", a, rank);
    return static_cast<std::size_t>(d);
  }
  std::size_t axis(std::size_t rank, const char* name, Index fallback) const {
    return axis(node.attributes.integer(name, fallback), rank);
  }
};

using InferRule = void (*)(Inference&);
using InferRules = std::map<std::string_view, InferRule>;  // by operator

void add_movement_rules(InferRules& all);
void add_reduction_rules(InferRules& all);
void add_image_rules(InferRules& all);

// The value has dtype and shape of input 0.
void infer_same(Inference& i);
// |step| of a number.
Index magnitude(Index node);

}  // namespace sten
