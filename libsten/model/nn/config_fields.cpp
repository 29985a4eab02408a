// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/config_fields.h"

#include "libsten/core/base/text.h"
#include "libsten/model/nn/decoder_architecture.h"

namespace sten {

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
