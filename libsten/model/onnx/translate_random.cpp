// SPDX-License-Identifier: Apache-2.0
// Translators of stochastic depth (Huang et al. 2016), the only use of random numbers besides dropout.
#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/onnx/weights.h"
#include "libsten/model/fusion/fuse.h"
#include "libsten/model/graph/dropout.h"
#include "libsten/model/onnx/translate.h"

namespace sten {
namespace {

// The number that fills a tensor; none if there may be several.
std::optional<double> filling(const GraphBuilder& builder, ValueRef v) {
  if (const auto number = scalar_in(builder, v)) return number;
  if (const BuilderNode* n = builder.node_of(v, "constant-of-shape")) {
    Dense one = *builder[n->in[1]].constant;
    return one.dtype() == DType::F32 ? std::optional(one.values.as<float>()[0]) : std::nullopt;
  }
  if (const BuilderNode* n = builder.node_of(v, "expand")) return filling(builder, n->in[0]);
  return {};
}

// A value without a node: all its uses are replaced by those of a mask.
void add_random(OnnxCall& c, std::optional<double> probability) {
  BuilderValue random{.dtype = DType::F32, .shape = c.value(0).shape};
  const ValueRef v = c.builder.add_leaf(std::move(random));
  c.training.random.emplace(
      v, OnnxTraining::Random{c.in(0), probability, std::string(c.node.outputs[0])});
  c.set(0, v);
}

void check_mode(const OnnxCall& c) {
  if (c.training.mode == OnnxMode::exported) fail("random numbers are unsupported");
}

void random_uniform_like(OnnxCall& c) {
  check_mode(c);
  const double low = c.number("low", 0), high = c.number("high", 1);
  const DType dtype = onnx_dtype(static_cast<std::int32_t>(c.integer("dtype", 1)));
  if (low != 0 || high != 1 || dtype != DType::F32)
    fail("expected FLOAT in [0, 1), got {} in [{}, {})", name_of(dtype), low, high);
  add_random(c, {});
}

void bernoulli(OnnxCall& c) {
  check_mode(c);
  const DType dtype = onnx_dtype(static_cast<std::int32_t>(c.integer("dtype", 1)));
  const auto p = filling(c.builder, c.in(0));
  if (dtype != DType::F32 || !p) fail("expected FLOAT with a constant probability");
  add_random(c, p);
}

// A tensor of 1 with probability p, else 0.
struct Indicator {
  ValueRef random;
  double p;
};
std::optional<Indicator> indicator(OnnxCall& c, ValueRef v) {
  const GraphBuilder& b = c.builder;
  const auto is_random = [&](ValueRef r) { return c.training.random.contains(r); };
  if (is_random(v)) {
    const auto p = c.training.random.at(v).probability;
    return p ? std::optional(Indicator{v, *p}) : std::nullopt;
  }
  if (const BuilderNode* n = b.node_of(v, "cast")) {
    const BuilderNode* less = b.node_of(n->in[0], "less");
    if (!less || !is_random(less->in[0])) return {};
    const auto p = scalar_in(b, less->in[1]);
    return p ? std::optional(Indicator{less->in[0], *p}) : std::nullopt;
  }
  if (const BuilderNode* n = b.node_of(v, "floor")) {  // of random + p
    const BuilderNode* sum = b.node_of(n->in[0], "add");
    const auto random =
        sum ? beside(*sum, [&](ValueRef r) { return scalar_in(b, r).has_value(); }) : std::nullopt;
    if (!random || !is_random(*random)) return {};
    return Indicator{*random, *scalar_in(b, sum->in[sum->in[0] == *random ? 1 : 0])};
  }
  return {};
}

// x * indicator / p with an indicator for each example, which broadcasts to x: the identity in evaluation, whose
// factor in training is a dropout of ones.
std::optional<ValueRef> stochastic_depth(OnnxCall& c) {
  for (const std::size_t i : {0, 1}) {
    const Scaled mask = unscaled(c.builder, c.in(i)), x = unscaled(c.builder, c.in(1 - i));
    const auto of = indicator(c, mask.x);
    if (!of) continue;
    const auto& [like, probability, name] = c.training.random.at(of->random);
    const auto &mask_shape = c.builder[of->random].shape, &x_shape = c.builder[x.x].shape;
    if (!(of->p > 0 && of->p <= 1) || !is_about(mask.by * x.by * of->p, 1) || !mask_shape ||
        !x_shape || broadcast(c.builder, *mask_shape, *x_shape) != *x_shape)
      return {};
    if (c.training.mode == OnnxMode::evaluation || of->p == 1) return x.x;
    Dense one = Dense::zeros(DType::F32, {1});
    one.values.mutate<float>()[0] = 1;
    const ValueRef ones = c.add("constant-of-shape",
                                {c.add("shape", {like}), c.builder.add_constant(std::move(one))});
    return c.add("mul", {x.x, add_dropout(c, ones, 1 - of->p, name)});
  }
  return {};
}

void mul(OnnxCall& c) {
  if (!c.training.random.empty())
    if (const auto y = stochastic_depth(c)) return c.set(0, *y);
  c.set(0, c.add("mul", c.all_in()));
}

}  // namespace

void add_random_translators(OnnxTranslators& all) {
  const OnnxTranslators these{
      {"Bernoulli", bernoulli}, {"RandomUniformLike", random_uniform_like}, {"Mul", mul}};
  all.insert(these.begin(), these.end());
}

ValueRef add_dropout(OnnxCall& c, ValueRef x, double p, std::string_view name) {
  auto& draw = c.training.draw;
  if (!draw) {
    for (ValueRef v = 0; v < c.builder.size(); ++v)
      if (c.builder[v].name == draw_input && c.builder.is_input(v))
        fail("the model has an input {}: dropouts are trained with an input of this name",
             quote(draw_input));
    draw = c.builder.add_input(draw_input, DType::I64, ExtentList{});
  }
  return c.add("dropout", {x, *draw}, Attributes().set("p", p).set("seed", dropout_seed(name)));
}

}  // namespace sten
