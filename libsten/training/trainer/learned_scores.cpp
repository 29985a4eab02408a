// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/learned_scores.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/random.h"
#include "libsten/core/sparsify/hard_concrete.h"
#include "libsten/core/sparsify/variational_dropout.h"

namespace sten {
namespace {

struct Element {
  double w, score;
  bool kept;
  std::uint64_t seed;
  Index i;

  // A uniform value u in (0, 1), such that log(u) and log(1 - u) are finite.
  double uniform(std::uint64_t of = 0) const {
    const std::uint64_t bits = random_bits(seed, 2 * static_cast<std::uint64_t>(i) + of);
    return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
  }
};

// A value and its derivatives.
struct Term {
  double value = 0, by_w = 0, by_score = 0;
};

// An element costs several logarithms.
constexpr Index grain = 4096;

// Calls f(i, element) for all elements, in parallel.
template <class F>
void for_each_element(const ScoredWeight& x, F&& f) {
  const float *w = x.w.values.as<float>().data(), *s = x.scores.values.as<float>().data();
  parallel_for(x.w.size(), grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      f(i, Element{double{w[i]}, double{s[i]}, !x.kept || (*x.kept)[i], x.seed, i});
  });
}

Dense like(const Dense& x) { return {x.extents, Values::uninitialized(DType::F32, x.size())}; }

// Implements scores by a rule for one element: static Term computing(e), penalty(e); double
// measured(e).
template <class Rule>
class ByElement : public LearnedScores {
 public:
  bool learn_dense() const override { return Rule::learn_dense; }
  Dense computing(const ScoredWeight& x) const override {
    return mapped(x, [](const Element& e) { return Rule::computing(e).value; });
  }
  Dense backward(const ScoredWeight& x, double penalty, Dense& gradient) const override {
    Dense by_scores = like(x.scores);
    float *g = gradient.values.mutate<float>().data(),
          *gs = by_scores.values.mutate<float>().data();
    for_each_element(x, [&](Index i, const Element& e) {
      const Term c = Rule::computing(e), p = penalty > 0 ? Rule::penalty(e) : Term{};
      gs[i] = static_cast<float>(g[i] * c.by_score + penalty * p.by_score);
      g[i] = static_cast<float>(g[i] * c.by_w + penalty * p.by_w);
    });
    return by_scores;
  }
  double penalty_of(const ScoredWeight& x) const override {
    double sum = 0;
    const float *w = x.w.values.as<float>().data(), *s = x.scores.values.as<float>().data();
    for (Index i = 0; i < x.w.size(); ++i)
      sum += Rule::penalty({double{w[i]}, double{s[i]}, true, x.seed, i}).value;
    return sum;
  }
  Dense measured(const ScoredWeight& x) const override { return mapped(x, Rule::measured); }

 private:
  template <class F>
  static Dense mapped(const ScoredWeight& x, F f) {
    Dense y = like(x.w);
    float* to = y.values.mutate<float>().data();
    for_each_element(x, [&](Index i, const Element& e) { to[i] = static_cast<float>(f(e)); });
    return y;
  }
};

struct HardConcreteGates {
  static constexpr bool learn_dense = false;
  static Term computing(const Element& e) {
    const auto [z, by_a] = hard_concrete::sample(e.score, e.uniform());
    return {e.w * z, z, e.w * by_a};
  }
  static Term penalty(const Element& e) {
    const auto [p, by_a] = hard_concrete::penalty(e.score);
    return {p, 0, by_a};
  }
  static double measured(const Element& e) { return e.w * hard_concrete::expected(e.score).z; }
};

// Straight-through gradient of the mask: pruned elements also update their scores.
template <bool is_soft>
struct MovementScores {
  static constexpr bool learn_dense = !is_soft;
  static Term computing(const Element& e) { return {e.kept ? e.w : 0, e.kept ? 1.0 : 0.0, e.w}; }
  static Term penalty(const Element& e) {
    if (!is_soft) return {};
    const double p = sigmoid_of(e.score);
    return {p, 0, p * (1 - p)};
  }
  static double measured(const Element& e) { return e.w; }
};

// Scores are logarithms of variances. Noise is added to the weights, one sample per batch; the
// paper samples the outputs of layers (local reparameterization).
struct VariationalNoise {
  static constexpr bool learn_dense = false;
  static Term computing(const Element& e) {
    const double noise =
        std::exp(0.5 * e.score) * variational_dropout::normal(e.uniform(0), e.uniform(1));
    return {e.w + noise, 1, 0.5 * noise};
  }
  static Term penalty(const Element& e) {
    const auto d = variational_dropout::divergence(e.w, e.score);
    return {d.value, d.by_w, d.by_log_sigma2};
  }
  static double measured(const Element& e) { return e.w; }
};

}  // namespace

const LearnedScores& learned_scores(const Spec& sparsifier) {
  static const ByElement<HardConcreteGates> gates;
  static const ByElement<MovementScores<false>> movement;
  static const ByElement<MovementScores<true>> soft_movement;
  if (sparsifier.is("l0")) return gates;
  if (sparsifier.is("movement")) return movement;
  if (sparsifier.is("soft-movement")) return soft_movement;
  static const ByElement<VariationalNoise> noise;
  if (sparsifier.is("variational-dropout")) return noise;
  fail_usage("{} has no learned scores", sparsifier.name());
}

}  // namespace sten
