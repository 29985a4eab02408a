#include "libsten/nn/config_fields.h"

#include "libsten/base/text.h"

namespace sten {

Index size_at(const JsonReader& in, const char* key) {
  const JsonReader at = in[key];
  const Index n = at.integer();
  if (n < 1) at.fail(fmt::format("is {}, not 1 or more", n));
  return n;
}

double positive_at(const JsonReader& in, const char* key, double fallback) {
  if (!in.has(key)) return fallback;
  const double x = in[key].number();
  if (!(x > 0)) in[key].fail(fmt::format("is {}, not above 0", x));
  return x;
}

void check_only(const JsonReader& in, OnlyValues only) {
  for (const auto& [key, value] : only)
    if (in.has(key) && in[key].json() != value)
      in[key].fail(fmt::format(
          "is {} (expected {})", printable(dump_json(in[key].json()).substr(0, 100)),
          key == std::string_view("model_type") ? known_model_types : dump_json(value)));
  if (in.has("pruned_heads") && !in["pruned_heads"].json().empty())
    in["pruned_heads"].fail("names heads; all have to be there");
}

}  // namespace sten
