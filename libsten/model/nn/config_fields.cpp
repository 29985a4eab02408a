// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/config_fields.h"

#include <algorithm>

#include "libsten/core/base/hints.h"
#include "libsten/core/base/text.h"
#include "libsten/model/nn/decoder_architecture.h"

namespace sten {
namespace {

struct Activation {
  std::string_view name, op;
};
constexpr Activation activations[] = {
    {"gelu", "gelu"},          {"gelu_python", "gelu"},    {"gelu_pytorch_tanh", "gelu-tanh"},
    {"gelu_new", "gelu-tanh"}, {"gelu_fast", "gelu-tanh"}, {"gelu_accurate", "gelu-tanh"},
    {"relu", "relu"},          {"silu", "silu"},           {"swish", "silu"},
    {"tanh", "tanh"}};

}  // namespace

bool has_value(const JsonReader& in, std::string_view key) {
  return in.has(key) && !in[key].json().is_null();
}

Index size_at(const JsonReader& in, const char* key) {
  const JsonReader at = in[key];
  const Index n = at.integer();
  if (n < 1) at.fail(fmt::format("expected an integer >= 1, got {}", n));
  return n;
}

double positive_at(const JsonReader& in, const char* key, double fallback) {
  if (!has_value(in, key)) return fallback;
  const double x = in[key].number();
  if (!(x > 0)) in[key].fail(fmt::format("expected a number > 0, got {}", x));
  return x;
}

bool flag_at(const JsonReader& in, std::string_view key, bool fallback) {
  return has_value(in, key) ? in[key].truth() : fallback;
}

std::string activation_at(const JsonReader& in, std::string_view key, std::string_view usual) {
  if (!has_value(in, key)) return std::string(usual);
  const std::string given = in[key].text();
  const auto at = std::ranges::find(activations, given, &Activation::name);
  if (at != std::end(activations)) return std::string(at->op);
  std::vector<std::string> names;
  for (const Activation& a : activations) names.emplace_back(a.name);
  in[key].fail(unknown_name("activation", given, names));
}

std::string known_model_types() {
  std::string all = "bert, gpt2";
  for (const DecoderArchitecture& a : decoder_architectures())
    all += fmt::format(", {}", a.model_type);
  return all;
}

void check_only(const JsonReader& in, OnlyValues only) {
  for (const auto& [key, value] : only)
    if (has_value(in, key) && in[key].json() != value)
      in[key].fail(
          fmt::format("expected {1}, got {0}", printable(dump_json(in[key].json()).substr(0, 100)),
                      key == std::string_view("model_type") ? "one of " + known_model_types()
                                                            : dump_json(value)));
  if (in.has("pruned_heads") && !in["pruned_heads"].json().empty())
    in["pruned_heads"].fail("pruned heads are not supported");
}

}  // namespace sten
