#include "libsten/product/attention_product.h"

#include <doctest/doctest.h>

#include <cmath>

#include "libsten/base/parallel.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Activations in a form of their own, beside the same as tokens.
struct Side {
  Form form;
  Index features, tokens;
  Array<float> rows, there;

  Side(Form f, Index features, Index tokens, std::uint64_t seed)
      : form(f), features(features), tokens(tokens), rows(features * tokens) {
    Dice dice(seed);
    for (float& x : std::span(rows.mutate(), rows.size())) x = static_cast<float>(dice.normal());
    there = Array<float>(form == Form::panels ? panels_size(features, tokens) : rows.size());
    for (Index t = 0; t < tokens; ++t)
      for (Index f = 0; f < features; ++f) there.mutate()[place(t, f)] = rows[t * features + f];
  }
  Index place(Index t, Index f) const {
    if (form == Form::tokens) return t * features + f;
    if (form == Form::features) return f * tokens + t;
    return (t / panel_width * features + f) * panel_width + t % panel_width;
  }
  Activations in() const { return {form, features, tokens, there.data()}; }
  ActivationsOut out() { return {form, features, tokens, there.mutate()}; }
};

// The formula, at a token's feature.
double wanted(const AttentionExtents& a, const Side& q, const Side& k, const Side& v, Index token,
              Index feature) {
  const Index b = token / a.tokens, h = feature / a.v_width;
  double all = 0, sum = 0;
  for (Index j = 0; j < a.keys; ++j) {
    if (a.seen && !a.seen[b * a.keys + j]) continue;
    double score = 0;
    for (Index f = h * a.width; f < (h + 1) * a.width; ++f)
      score += double{q.rows[token * q.features + f]} * k.rows[(b * a.keys + j) * k.features + f];
    const double e = std::exp(a.scale * score);
    all += e;
    sum += e * v.rows[(b * a.keys + j) * v.features + feature];
  }
  return all > 0 ? sum / all : 0;
}

}  // namespace

TEST_CASE("attention is that of the formula, however activations lie and whoever shares the work") {
  for (const Form form : {Form::panels, Form::tokens, Form::features})
    for (const Index tokens : {1, 37, 64, 100})
      for (const Index keys : {64, 70})
        for (const bool masked : {false, true}) {
          CAPTURE(tokens);
          CAPTURE(keys);
          AttentionExtents a{3, tokens, keys, 2, 4, 6, 0.4f};
          // Of the second sequence nothing is seen, of the third the first keys alone.
          std::vector<std::uint8_t> seen(3 * keys, 1);
          std::fill_n(seen.begin() + keys, keys, 0);
          std::fill_n(seen.begin() + 2 * keys + 5, keys - 5, 0);
          if (masked) a.seen = seen.data();
          const Side q(form, 8, 3 * tokens, 1), k(form, 8, 3 * keys, 2), v(form, 12, 3 * keys, 3);
          Side y(form, 12, 3 * tokens, 4), other = y;
          const int before = threads();
          set_threads(1);
          attention_product(a, q.in(), k.in(), v.in(), y.out());
          set_threads(3);
          attention_product(a, q.in(), k.in(), v.in(), other.out());
          set_threads(before);
          for (Index t = 0; t < 3 * tokens; ++t)
            for (Index f = 0; f < 12; ++f) {
              const float got = y.there[y.place(t, f)];
              REQUIRE(got == other.there[other.place(t, f)]);
              REQUIRE(std::abs(got - wanted(a, q, k, v, t, f)) < 2e-6);
            }
        }
}
