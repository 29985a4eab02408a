// SPDX-License-Identifier: Apache-2.0
// Cases of all operators: attributes and inputs, for tests that run over every operator.
#pragma once
#include <cmath>

#include "libsten/compute/autograd/tape.h"
#include "libsten/compute/ops/elementwise/unary_rows.h"
#include "tests/support/tensors.h"

namespace sten::testing {

// Standard normal values; with `below`, integers in [0, below).
struct CaseInput {
  Shape shape;
  Index below = 0;
  bool is_positive = false;  // absolute values
  DType dtype = DType::I64;  // of integers: I64, or BOOL
  double low = 0, high = 0;  // uniform values in [low, high), if low < high
};

struct OperatorCase {
  std::string op;
  std::vector<CaseInput> in;
  Attributes attributes{};
};

using List = Attributes::List;

inline Attributes other_attributes(const UnaryRow& row) {
  Attributes all;
  for (const UnaryAttribute& a : {row.a, row.b})
    if (!a.name.empty())
      all.set(a.name,
              std::isfinite(a.fallback) ? a.fallback / 2 + 0.25 : std::copysign(0.75, a.fallback));
  return all;
}

// x and router logits, followed by gate, up and down of each expert.
inline std::vector<CaseInput> with_experts(std::vector<CaseInput> all, Index hidden) {
  const Index features = all[0].shape.back(), experts = all[1].shape.back();
  for (Index e = 0; e < experts; ++e)
    for (const Shape& shape : {Shape{hidden, features}, {hidden, features}, {features, hidden}})
      all.push_back({shape});
  return all;
}

// Cases of the operators of unary_rows(), and the rest.
inline std::vector<OperatorCase> with_unary_cases(const Shape& shape,
                                                  const std::vector<OperatorCase>& rest) {
  std::vector<OperatorCase> all;
  for (const UnaryRow& row : unary_rows()) {
    const CaseInput x{.shape = shape, .low = row.low, .high = row.high};
    all.push_back({std::string(row.name), {x}});
    if (!row.a.name.empty()) all.push_back({std::string(row.name), {x}, other_attributes(row)});
  }
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

// Small cases of the other operators, at least one for each and several for operators with several
// code paths.
inline const std::vector<OperatorCase>& other_small_cases() {
  static const std::vector<OperatorCase> all{
      {"dropout", {{{4, 5}}}, Attributes().set("p", 0.3).set("seed", 7)},
      {"add", {{{3, 4}}, {{3, 4}}}},
      {"add", {{{2, 3, 4}}, {{4}}}},
      {"add", {{{}}, {{2, 3}}}},
      {"sub", {{{3, 4}}, {{3, 4}}}},
      {"sub", {{{3, 1}}, {{1, 4}}}},
      {"sub", {{{4}}, {{2, 3, 4}}}},
      {"mul", {{{3, 4}}, {{3, 4}}}},
      {"mul", {{{2, 1, 3, 1}}, {{4, 1, 5}}}},
      {"mul", {{{2, 3, 4}}, {{3, 1}}}},
      {"softmax", {{{3, 11}}}},
      {"softmax", {{{2, 5, 3}}}, Attributes().set("axis", 1)},
      {"softmax", {{{4, 2, 3}}}, Attributes().set("axis", 0)},
      {"softmax", {{{6}}}},
      {"log-softmax", {{{3, 11}}}},
      {"log-softmax", {{{2, 5, 3}}}, Attributes().set("axis", -2)},
      {"layer-norm", {{{2, 3, 9}}, {{9}}, {{9}}}},
      {"layer-norm", {{{5}}, {{5}}, {{5}}}, Attributes().set("eps", 0.5)},
      {"rms-norm", {{{2, 3, 9}}, {{9}}}},
      {"rms-norm", {{{2, 3, 8}}, {{4}}}, Attributes().set("eps", 0.5).set("unit_offset", 1)},
      // Positive, because inputs that are gradients have almost no gradient of their own.
      {"batch-norm-train", {{{2, 3, 5}, 0, true}, {{5}}, {{5}}}},
      {"batch-norm-train",
       {{{3, 2, 2, 3}, 0, true}, {{3}}, {{3}}},
       Attributes().set("eps", 0.5).set("relu", 1)},
      {"batch-norm", {{{2, 3, 5}}, {{5}}, {{5}}, {{5}}, {{5}, 0, true}}},
      {"batch-norm",
       {{{6, 4}}, {{4}}, {{4}}, {{4}}, {{4}, 0, true}},
       Attributes().set("eps", 0.5).set("relu", 1)},
      {"instance-norm", {{{2, 2, 3, 5}, 0, true}, {{5}}, {{5}}}},
      {"instance-norm", {{{2, 4, 3}, 0, true}, {{3}}, {{3}}}, Attributes().set("eps", 0.5)},
      {"group-norm", {{{2, 2, 3, 6}, 0, true}, {{6}}, {{6}}}, Attributes().set("groups", 2)},
      {"group-norm",
       {{{3, 4}, 0, true}, {{4}}, {{4}}},
       Attributes().set("groups", 1).set("eps", 0.5)},
      {"lrn", {{{2, 3, 7}}}, Attributes().set("size", 5).set("alpha", 0.5).set("bias", 2)},
      {"lrn", {{{2, 2, 2, 4}}}, Attributes().set("size", 2).set("alpha", 1).set("beta", 0.6)},
      {"resize", {{{2, 3, 4, 2}}}, Attributes().set("size", List{5, 3})},
      {"resize", {{{2, 5, 2}}}, Attributes().set("scales", 1.7).set("nearest", "floor")},
      {"resize", {{{1, 3, 4, 2}}}, Attributes().set("size", List{5, 3}).set("mode", "linear")},
      {"resize", {{{1, 4, 5, 2}}}, Attributes().set("size", List{7, 3}).set("mode", "cubic")},
      {"resize",
       {{{1, 2, 3, 4, 2}}},
       Attributes()
           .set("scales", "2,1.5,0.6")
           .set("mode", "linear")
           .set("coordinates", "align-corners")},
      {"embedding", {{{4, 3}}, {{2, 5}, 4}}},
      {"embedding", {{{4, 3}}, {{}, 4}}},
      {"rotary", {{{2, 3, 8}}, {{3}, 4}, {{2}}}, Attributes().set("heads", 2)},
      {"rotary",
       {{{2, 3, 10}}, {{2, 3}, 4}, {{2}}},
       Attributes().set("heads", 2).set("interleaved", 1).set("scale", 0.75)},
      {"attention", {{{2, 3, 4}}, {{2, 3, 4}}, {{2, 3, 4}}}, Attributes().set("heads", 2)},
      {"attention", {{{2, 3, 4}}, {{2, 5, 4}}, {{2, 5, 4}}, {{2, 5}, 2}}},
      {"attention",
       {{{2, 3, 4}}, {{2, 5, 4}}, {{2, 5, 6}}, {{2, 2, 3, 5}}},
       Attributes().set("heads", 2).set("scale", 0.75)},
      {"attention",
       {{{2, 3, 4}}, {{2, 5, 4}}, {{2, 5, 4}}, {{2, 1, 5}}},
       Attributes().set("heads", 2)},
      {"attention", {{{2, 3, 4}}, {{2, 5, 4}}, {{2, 5, 2}}, {{5}}}},
      {"attention",
       {{{2, 4, 4}}, {{2, 4, 4}}, {{2, 4, 6}}},
       Attributes().set("heads", 2).set("causal", 1)},
      {"attention",
       {{{2, 3, 4}}, {{2, 5, 4}}, {{2, 5, 4}}, {{2, 5}, 2}},
       Attributes().set("causal", 1)},
      {"attention",
       {{{2, 3, 4}}, {{2, 4, 4}}, {{2, 4, 4}}, {{2, 2, 3, 4}}},
       Attributes().set("heads", 2).set("causal", 1)},
      {"attention",
       {{{2, 3, 8}}, {{2, 5, 4}}, {{2, 5, 6}}},
       Attributes().set("heads", 4).set("kv_heads", 2).set("causal", 1).set("window", 2)},
      {"attention",
       {{{2, 3, 4}}, {{2, 5, 2}}, {{2, 5, 3}}, {{2, 5}, 2}},
       Attributes().set("heads", 2).set("kv_heads", 1).set("soft_cap", 1.5)},
      {"attention",
       {{{2, 3, 4}}, {{2, 5, 4}}, {{2, 5, 4}}, {{2, 2, 3, 5}}},
       Attributes().set("heads", 2).set("causal", 1).set("window", 3).set("soft_cap", 0.75)},
      {"mixture-of-experts", with_experts({{{2, 3, 4}}, {{2, 3, 2}}}, 3)},
      {"mixture-of-experts", with_experts({{{4, 3}}, {{4, 3}}}, 2),
       Attributes().set("top_k", 2).set("normalize", 1).set("activation", "gelu-tanh")},
      {"mixture-of-experts", with_experts({{{4, 3}}, {{4, 3}}}, 2),
       Attributes().set("top_k", 3).set("activation", "tanh")},
      {"lora", {{{3, 4}}, {{2, 4}}, {{3, 2}}}, Attributes().set("scale", 0.5)},
      {"linear", {{{2, 3, 4}}, {{5, 4}}, {{5}}}},
      {"linear", {{{4}}, {{3, 4}}}},
      {"conv", {{{2, 4, 5, 2}}, {{3, 2, 3, 2}}, {{3}}}, Attributes().set("pads", List{1, 0, 1, 1})},
      {"conv",
       {{{1, 7, 4}}, {{4, 2, 3}}},
       Attributes().set("groups", 2).set("strides", List{2}).set("dilations", List{2})},
      {"conv-transpose",
       {{{1, 3, 2, 2}}, {{2, 3, 2, 3}}, {{3}}},
       Attributes().set("strides", List{2, 1}).set("output-padding", List{1, 0})},
      {"conv-transpose", {{{2, 3, 4}}, {{4, 1, 3}}}, Attributes().set("groups", 2)},
      {"max-pool",
       {{{2, 4, 5, 3}}},
       Attributes()
           .set("kernel", List{3, 2})
           .set("strides", List{1, 2})
           .set("pads", List{1, 0, 1, 1})},
      {"max-pool",
       {{{1, 7, 2}}},
       Attributes()
           .set("kernel", List{2})
           .set("dilations", List{2})
           .set("strides", List{3})
           .set("ceil", 1)},
      {"average-pool",
       {{{2, 4, 5, 3}}},
       Attributes()
           .set("kernel", List{3, 2})
           .set("strides", List{1, 2})
           .set("pads", List{1, 0, 1, 1})},
      {"average-pool",
       {{{1, 3, 4, 5, 2}}},
       Attributes()
           .set("kernel", List{2, 2, 3})
           .set("strides", List{2, 1, 2})
           .set("pads", List{1, 0, 1, 0, 1, 1})
           .set("count-pads", 1)
           .set("ceil", 1)},
      {"adaptive-average-pool", {{{2, 5, 4, 3}}}, Attributes().set("size", List{3, 7})},
      {"adaptive-max-pool", {{{2, 5, 4, 3}}}, Attributes().set("size", List{3, 2})},
      {"matmul", {{{3, 4}}, {{4, 2}}}},
      {"matmul", {{{2, 1, 2, 3}}, {{3, 3, 2}}}},
      {"reshape", {{{2, 6}}}, Attributes().set("shape", List{3, -1})},
      {"transpose", {{{2, 3, 4}}}},
      {"transpose", {{{2, 3, 4}}}, Attributes().set("axes", List{2, 0, 1})},
      {"concat", {{{2, 3}}, {{2, 1}}, {{2, 2}}}, Attributes().set("axis", -1)},
      {"concat", {{{2, 3}}}},
      {"slice", {{{2, 6, 3}}}, Attributes().set("axis", 1).set("begin", 1).set("end", 4)},
      {"slice", {{{3, 2}}}, Attributes().set("begin", 1)},
      {"slice-scatter",
       {{{2, 6, 3}}, {{2, 3, 3}}},
       Attributes().set("axis", 1).set("begin", 1).set("end", 4)},
      {"sum", {{{3, 4}}}},
      {"sum", {{{2, 3, 4}}}, Attributes().set("axes", List{0, -1})},
      {"sum", {{{2, 3, 4}}}, Attributes().set("axes", List{1}).set("keep", 1)},
      {"mean", {{{3, 4}}}},
      {"mean", {{{2, 3, 4}}}, Attributes().set("axes", List{1})},
      {"cross-entropy", {{{4, 5}}, {{4}, 5}}},
      {"cross-entropy", {{{4, 3}}, {{4}, 3}}, Attributes().set("ignore", 1)},
      {"cross-entropy", {{{4, 3}}, {{4}, 3}}, Attributes().set("smoothing", 0.2)},
      {"kl-divergence", {{{4, 5}}, {{4, 5}}, {{4}, 5}}},
      {"kl-divergence",
       {{{4, 3}}, {{4, 3}}, {{4}, 3}},
       Attributes().set("ignore", 1).set("temperature", 2.5)},
      {"mse", {{{3, 4}}, {{3, 4}}}},
      {"matmul", {{{2, 3, 5}}, {{5, 4}}}},
      {"matmul", {{{3, 5}}, {{2, 5, 4}}}},
      // Elementwise.
      {"div", {{{3, 4}}, {{3, 4}, 0, true}}},
      {"div", {{{2, 3, 1}}, {{4}, 0, true}}},
      {"pow", {{{3, 4}, 0, true}, {{3, 4}}}},
      {"pow", {{{2, 3}, 0, true}, {{}}}},
      {"pow", {{{2, 4}, 0, false}, {{3, 1, 1}, 4}}},
      {"min", {{{3, 4}}, {{3, 4}}}},
      {"min", {{{4}}, {{2, 3, 4}}}},
      {"max", {{{3, 1}}, {{1, 4}}}},
      {"where", {{{3, 4}, 2, false, DType::BOOL}, {{3, 4}}, {{3, 4}}}},
      {"where", {{{2, 1}, 2, false, DType::BOOL}, {{3, 1, 4}}, {{}}}},
      {"identity", {{{3, 5}}}},
      // Movement and reductions.
      {"reshape", {{{2, 3, 4}}}, Attributes().set("shape", List{0, -1}).set("copy-zeros", 1)},
      {"squeeze", {{{3, 1, 4}}}, Attributes().set("axes", List{-2})},
      {"squeeze", {{{1, 3, 4}}}},
      {"unsqueeze", {{{3, 4}}}, Attributes().set("axes", List{-1, 0})},
      {"flatten", {{{2, 3, 4}}}, Attributes().set("axis", 2)},
      {"slice",
       {{{5, 6}}},
       Attributes()
           .set("begins", List{-1, 1})
           .set("ends", List{-100, 5})
           .set("steps", List{-2, 3})},
      {"slice",
       {{{3, 4, 5}}},
       Attributes().set("begins", List{1}).set("ends", List{9}).set("axes", List{-1})},
      {"expand", {{{3, 1}}}, Attributes().set("shape", List{2, 1, 4})},
      {"expand", {{{2, 3}}}, Attributes().set("shape", List{1})},
      {"tile", {{{2, 3}}}, Attributes().set("repeats", List{3, 2})},
      {"tile", {{{2, 1, 3}}}, Attributes().set("repeats", List{1, 4, 1})},
      {"pad", {{{2, 3}}}, Attributes().set("pads", List{1, 0, 2, 3}).set("value", 1.5)},
      {"pad", {{{3, 4}}}, Attributes().set("pads", List{0, -1, 1, 2})},
      {"pad", {{{3, 4}}}, Attributes().set("pads", List{2, 3, 1, 0}).set("mode", "reflect")},
      {"pad",
       {{{2, 3}}},
       Attributes().set("pads", List{2, 5}).set("axes", List{-1}).set("mode", "edge")},
      {"pad", {{{2, 3}}}, Attributes().set("pads", List{1, 4, 0, 0}).set("mode", "wrap")},
      {"gather", {{{4, 3}}, {{2, 5}, 4}}},
      {"gather", {{{2, 4, 3}}, {{2, 3}, 4}}, Attributes().set("axis", 1)},
      {"gather", {{{3, 4}}, {{5}, 4}}, Attributes().set("axis", -1)},
      {"gather", {{{3, 4}}, {{}, 4}}, Attributes().set("axis", 1)},
      {"gather-elements", {{{3, 4}}, {{2, 6}, 3}}, Attributes().set("axis", 1)},
      {"gather-elements", {{{3, 4}}, {{5, 4}, 3}}},
      {"reduce-max", {{{3, 4}}}},
      {"reduce-max", {{{2, 3, 4}}}, Attributes().set("axes", List{0, -1}).set("keep", 1)},
      {"reduce-min", {{{2, 3, 4}}}, Attributes().set("axes", List{1})},
      {"reduce-prod", {{{2, 3, 4}}}, Attributes().set("axes", List{1})},
      {"reduce-l1", {{{3, 5}}}, Attributes().set("axes", List{0})},
      {"reduce-l2", {{{2, 3, 4}}}, Attributes().set("axes", List{0, 2})},
      {"reduce-sum-square", {{{3, 5}}}, Attributes().set("axes", List{1}).set("keep", 1)},
      {"reduce-log-sum", {{{9, 16}, 0, true}}},
      {"reduce-log-sum-exp", {{{3, 5}}}, Attributes().set("axes", List{-1})},
      {"sum", {{{2, 3}}}, Attributes().set("noop", 1)},
      {"top-k", {{{3, 7}}}, Attributes().set("k", 3)},
      {"top-k", {{{5, 2}}}, Attributes().set("k", 2).set("axis", 0).set("largest", 0)},
      {"cum-sum", {{{2, 4, 3}}}, Attributes().set("axis", 1)},
      {"cum-sum", {{{3, 5}}}, Attributes().set("axis", -1).set("exclusive", 1).set("reverse", 1)},
      {"trilu", {{{2, 3, 4}}}, Attributes().set("k", 1)},
      {"trilu", {{{4, 3}}}, Attributes().set("upper", Index{0}).set("k", -1)},
      {"p-relu", {{{3, 4}}, {{3, 4}}}},
      {"p-relu", {{{2, 3, 4}}, {{3, 1}}}},
      // Gathered slices.
      {"gather-nd", {{{3, 4, 2}}, {{5, 2}, 3}}},
      {"gather-nd", {{{2, 3, 4}}, {{2, 5, 1}, 3}}, Attributes().set("batch-dims", 1)},
      {"scatter-elements", {{{3, 4}}, {{2, 4}, 3}, {{2, 4}}}},
      {"scatter-elements",
       {{{3, 4}}, {{3, 6}, 4}, {{3, 6}}},
       Attributes().set("axis", 1).set("reduction", "add")},
      {"scatter-nd", {{{4, 3}}, {{5, 1}, 4}, {{5, 3}}}},
      {"scatter-nd", {{{3, 4}}, {{2, 3, 2}, 3}, {{2, 3}}}, Attributes().set("reduction", "add")},
      {"compress", {{{2, 4, 3}}, {{3}, 2, false, DType::BOOL}}, Attributes().set("axis", 1)},
      {"compress", {{{2, 3}}, {{6}, 2, false, DType::BOOL}}},
      {"reverse-sequence", {{{4, 3, 2}}, {{3}, 5}}},
      {"reverse-sequence",
       {{{3, 2, 4}}, {{3}, 5}},
       Attributes().set("batch-axis", Index{0}).set("time-axis", 2)},
      {"nll-loss", {{{4, 5}}, {{4}, 5}}},
      {"nll-loss", {{{2, 3, 4}}, {{2, 4}, 3}}, Attributes().set("reduction", "none")},
      {"nll-loss",
       {{{2, 3, 2, 2}}, {{2, 2, 2}, 3}},
       Attributes().set("reduction", "sum").set("ignore", 1)},
      {"einsum", {{{3, 4}}, {{4, 2}}}, Attributes().set("equation", "ij,jk->ik")},
      {"einsum", {{{2, 3, 4}}, {{1, 5, 4}}}, Attributes().set("equation", "...ij, ...kj -> ...ik")},
      {"einsum", {{{3, 3, 2}}}, Attributes().set("equation", "iij->ji")},
      {"einsum", {{{2, 3, 2}}, {{2}}}, Attributes().set("equation", "iji,i")},
      {"einsum", {{{2, 3, 4}}, {{4, 2}}, {{3, 2}}}, Attributes().set("equation", "abc,cd,be->ade")},
  };
  return all;
}

// Cases of them that are large enough to be divided among threads.
inline const std::vector<OperatorCase>& other_large_cases() {
  static const std::vector<OperatorCase> all{
      {"dropout", {{{130, 300}}}},
      {"add", {{{40, 3, 300}}, {{300}}}},
      {"sub", {{{130, 300}}, {{130, 1}}}},
      {"mul", {{{3, 1, 301}}, {{150, 301}}}},
      {"mul", {{{40000}}, {{}}}},
      {"softmax", {{{130, 300}}}},
      {"softmax", {{{20, 30, 61}}}, Attributes().set("axis", 1)},
      {"log-softmax", {{{130, 300}}}},
      {"layer-norm", {{{130, 300}}, {{300}}, {{300}}}},
      {"rms-norm", {{{130, 300}}, {{300}}}},
      {"rms-norm", {{{130, 300}}, {{60}}}},
      {"instance-norm", {{{3, 30, 31, 20}, 0, true}, {{20}}, {{20}}}},
      {"group-norm", {{{3, 30, 31, 20}, 0, true}, {{20}}, {{20}}}, Attributes().set("groups", 5)},
      {"lrn", {{{3, 30, 31, 20}}}, Attributes().set("size", 5)},
      {"resize", {{{3, 30, 31, 20}}}, Attributes().set("size", List{41, 20}).set("mode", "linear")},
      {"embedding", {{{50, 300}}, {{13, 20}, 50}}},
      {"rotary", {{{3, 50, 240}}, {{50}, 4}, {{20}}}, Attributes().set("heads", 5)},
      {"attention",
       {{{3, 50, 60}}, {{3, 70, 60}}, {{3, 70, 60}}, {{3, 70}, 3}},
       Attributes().set("heads", 5)},
      {"attention",
       {{{3, 50, 60}}, {{3, 70, 60}}, {{3, 70, 40}}, {{5, 1, 70}}},
       Attributes().set("heads", 5)},
      {"attention",
       {{{3, 50, 60}}, {{3, 70, 60}}, {{3, 70, 60}}, {{3, 70}, 3}},
       Attributes().set("heads", 5).set("causal", 1)},
      {"attention",
       {{{3, 90, 60}}, {{3, 100, 20}}, {{3, 100, 30}}},
       Attributes()
           .set("heads", 6)
           .set("kv_heads", 2)
           .set("causal", 1)
           .set("window", 37)
           .set("soft_cap", 2.5)},
      {"mixture-of-experts", with_experts({{{130, 60}}, {{130, 7}}}, 40),
       Attributes().set("top_k", 3).set("normalize", 1)},
      {"lora", {{{130, 300}}, {{7, 300}}, {{130, 7}}}, Attributes().set("scale", 2.5)},
      {"linear", {{{7, 40, 60}}, {{300, 60}}, {{300}}}},
      {"batch-norm-train", {{{7, 90, 37}, 0, true}, {{37}}, {{37}}}, Attributes().set("relu", 1)},
      {"batch-norm", {{{700, 37}}, {{37}}, {{37}}, {{37}}, {{37}, 0, true}}},
      {"conv",
       {{{3, 20, 21, 16}}, {{24, 16, 3, 3}}, {{24}}},
       Attributes().set("pads", List{1, 1, 1, 1})},
      {"conv", {{{2, 20, 21, 6}}, {{12, 1, 3, 3}}}, Attributes().set("groups", 6)},
      {"conv-transpose",
       {{{3, 15, 14, 16}}, {{16, 12, 3, 3}}, {{12}}},
       Attributes().set("strides", List{2, 2})},
      {"max-pool",
       {{{3, 40, 41, 16}}},
       Attributes()
           .set("kernel", List{3, 3})
           .set("strides", List{2, 2})
           .set("pads", List{1, 1, 1, 1})},
      {"average-pool",
       {{{3, 40, 41, 16}}},
       Attributes().set("kernel", List{3, 3}).set("pads", List{1, 1, 1, 1})},
      {"adaptive-average-pool", {{{3, 40, 41, 16}}}, Attributes().set("size", List{7, 6})},
      {"adaptive-max-pool", {{{3, 40, 41, 16}}}, Attributes().set("size", List{7, 6})},
      {"matmul", {{{70, 90}}, {{90, 300}}}},
      {"matmul", {{{4, 1, 70, 30}}, {{3, 30, 70}}}},
      {"reshape", {{{130, 300}}}, Attributes().set("shape", List{300, 130})},
      {"transpose", {{{130, 300}}}},
      {"transpose", {{{40, 7, 3, 61}}}, Attributes().set("axes", List{0, 2, 1, 3})},
      {"concat", {{{130, 200}}, {{130, 100}}}, Attributes().set("axis", 1)},
      {"slice", {{{130, 600}}}, Attributes().set("axis", 1).set("begin", 100).set("end", 400)},
      {"slice-scatter",
       {{{130, 600}}, {{130, 300}}},
       Attributes().set("axis", 1).set("begin", 100).set("end", 400)},
      {"sum", {{{130, 600}}}},
      {"sum", {{{130, 600}}}, Attributes().set("axes", List{0})},
      {"sum", {{{300, 600}}}, Attributes().set("axes", List{1})},
      {"mean", {{{20, 30, 100}}}, Attributes().set("axes", List{0, 2})},
      {"cross-entropy", {{{130, 300}}, {{130}, 300}}},
      {"kl-divergence", {{{130, 300}}, {{130, 300}}, {{130}, 300}}},
      {"mse", {{{130, 600}}, {{130, 600}}}},
      // Elementwise.
      {"identity", {{{130, 300}}}},
      {"div", {{{130, 300}}, {{300}, 0, true}}},
      {"pow", {{{130, 300}, 0, true}, {{130, 1}}}},
      {"min", {{{130, 300}}, {{130, 300}}}},
      {"max", {{{3, 1, 301}}, {{150, 301}}}},
      {"where", {{{130, 1}, 2, false, DType::BOOL}, {{130, 300}}, {{300}}}},
      // Movement and reductions.
      {"squeeze", {{{130, 1, 300}}}},
      {"unsqueeze", {{{130, 300}}}, Attributes().set("axes", List{1})},
      {"flatten", {{{10, 13, 300}}}, Attributes().set("axis", 2)},
      {"slice",
       {{{300, 300}}},
       Attributes().set("begins", List{-1, 1}).set("ends", List{0, 299}).set("steps", List{-2, 2})},
      {"expand", {{{130, 1}}}, Attributes().set("shape", List{3, 130, 300})},
      {"tile", {{{70, 50}}}, Attributes().set("repeats", List{3, 7})},
      {"pad", {{{130, 300}}}, Attributes().set("pads", List{5, 7, 11, 3}).set("mode", "reflect")},
      {"gather", {{{20, 30, 60}}, {{13, 7}, 30}}, Attributes().set("axis", 1)},
      {"gather-elements", {{{130, 300}}, {{130, 200}, 300}}, Attributes().set("axis", 1)},
      {"reduce-max", {{{130, 300}}}, Attributes().set("axes", List{0})},
      {"reduce-min", {{{130, 300}}}, Attributes().set("axes", List{1})},
      {"reduce-prod", {{{1300, 30}}}, Attributes().set("axes", List{1})},
      {"reduce-l1", {{{130, 300}}}},
      {"reduce-l2", {{{20, 30, 60}}}, Attributes().set("axes", List{0, 2})},
      {"reduce-sum-square", {{{130, 300}}}, Attributes().set("axes", List{1})},
      {"reduce-log-sum", {{{130, 300}, 0, true}}, Attributes().set("axes", List{1})},
      {"reduce-log-sum-exp", {{{130, 300}}}, Attributes().set("axes", List{0})},
      {"top-k", {{{130, 300}}}, Attributes().set("k", 200)},
      {"cum-sum", {{{130, 300}}}, Attributes().set("axis", 1)},
      {"trilu", {{{3, 130, 300}}}},
      {"p-relu", {{{130, 300}}, {{300}}}},
      // Gathered slices.
      {"gather-nd", {{{130, 300}}, {{70, 2}, 130}}},
      {"scatter-elements",
       {{{130, 300}}, {{130, 200}, 300}, {{130, 200}}},
       Attributes().set("axis", 1).set("reduction", "add")},
      {"scatter-nd", {{{130, 300}}, {{99, 1}, 130}, {{99, 300}}}},
      {"compress", {{{130, 300}}, {{300}, 2, false, DType::BOOL}}, Attributes().set("axis", 1)},
      {"reverse-sequence", {{{130, 30, 10}}, {{30}, 131}}},
      {"nll-loss", {{{130, 300}}, {{130}, 300}}},
      {"einsum", {{{20, 30, 40}}, {{20, 40, 50}}}, Attributes().set("equation", "bij,bjk->kbi")},
  };
  return all;
}

// Small cases of all operators.
inline const std::vector<OperatorCase>& operator_cases() {
  static const std::vector<OperatorCase> all = with_unary_cases({3, 5}, other_small_cases());
  return all;
}
// Cases of all operators that are large enough to be divided among threads.
inline const std::vector<OperatorCase>& large_cases() {
  static const std::vector<OperatorCase> all = with_unary_cases({130, 300}, other_large_cases());
  return all;
}

// The inputs as F32 or F64, with the same values.
inline std::vector<Tensor> inputs_of(const OperatorCase& c, DType dtype) {
  Dice dice(seed_for(1, c.op));
  std::vector<Tensor> in;
  for (const CaseInput& i : c.in) {
    const bool is_real = i.below == 0;
    Dense x = Dense::zeros(is_real ? dtype : i.dtype, i.shape);
    for (Index k = 0; k < x.size(); ++k) {
      const double drawn = !is_real         ? 0
                           : i.low < i.high ? i.low + (i.high - i.low) * dice.uniform()
                                            : dice.normal();
      const auto v = static_cast<float>(i.is_positive ? std::abs(drawn) : drawn);
      if (i.dtype == DType::BOOL)
        x.values.mutate<std::uint8_t>()[k] = static_cast<std::uint8_t>(dice.below(i.below));
      else if (!is_real)
        x.values.mutate<std::int64_t>()[k] = dice.below(i.below);
      else if (dtype == DType::F64)
        x.values.mutate<double>()[k] = v;
      else
        x.values.mutate<float>()[k] = v;
    }
    in.push_back(std::move(x));
  }
  return in;
}

inline std::vector<double> doubles(const Tensor& x) {
  const Dense d = x.to_dense();
  if (d.dtype() == DType::F32) {
    const auto v = d.values.as<float>();
    return {v.begin(), v.end()};
  }
  const auto v = d.values.as<double>();
  return {v.begin(), v.end()};
}

// The largest difference, relative to the largest finite exact value. NaN and infinities are
// infinitely far from all other values.
inline double furthest(const std::vector<double>& found, const std::vector<double>& exact) {
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const bool is_same = found[i] == exact[i] || (std::isnan(found[i]) && std::isnan(exact[i]));
    const double off = is_same ? 0 : std::abs(found[i] - exact[i]);
    worst = std::isnan(off) ? INFINITY : std::max(worst, off);
    if (std::isfinite(exact[i])) largest = std::max(largest, std::abs(exact[i]));
  }
  return worst == 0 ? 0 : worst / largest;
}

// The output of an operator and the gradients of its floating-point inputs, empty for other inputs.
// The gradient of the output is standard normal.
struct Walked {
  Tensor y, dy;
  std::vector<std::optional<Tensor>> dx;
};
inline Walked walk(const OperatorCase& c, DType dtype) {
  Tape tape;
  std::vector<Var> in;
  for (Tensor& x : inputs_of(c, dtype))
    in.push_back(x.dtype() == dtype ? tape.parameter(std::move(x)) : Var(std::move(x)));
  const Var y = tape.apply(c.op, in, c.attributes);
  const Tensor dy = inputs_of({c.op, {{y.shape()}}}, dtype)[0];
  tape.backward(y, dy);
  Walked out{y.value(), dy, {}};
  for (const Var& x : in) out.dx.push_back(x.grad());
  return out;
}

}  // namespace sten::testing
