// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/scored.h"

#include <atomic>
#include <cmath>

#include "kernels/elementwise.h"
#include "libsten/core/sparsify/hard_concrete.h"
#include "libsten/core/sparsify/magnitude.h"
#include "libsten/core/sparsify/streaming.h"
#include "libsten/core/sparsify/variational_dropout.h"

namespace sten {
namespace {

const Dense& scores_in(const char* name, const Shape& extents, DType dtype, const Hints& hints) {
  sparsify_detail::check_prunable(dtype);
  if (!hints.scores) fail_usage("{} needs one score per element", name);
  const Dense& s = *hints.scores;
  if (s.extents != extents)
    fail_usage("scores of shape {} do not fit a tensor of shape {}", to_string(s.extents),
               to_string(extents));
  if (!is_prunable(s.dtype()))
    fail("scores must be F64, F32, F16, BF16, F8_E4M3 or F8_E5M2, got {}", name_of(s.dtype()));
  return s;
}

const Dense& scores_in(const char* name, const Dense& x, const Hints& hints) {
  return scores_in(name, x.extents, x.dtype(), hints);
}

[[noreturn]] void fail_nan(Index i) { fail("the score of element {} is NaN", i); }

// Decodes elements begin to begin + n to T.
template <class T>
void decode(const Dense& x, Index begin, Index n, T* to) {
  with_float(x.dtype(), [&]<class E>(E) {
    const auto* bits = x.values.as<typename E::Bits>().data() + begin;
    for (Index i = 0; i < n; ++i) to[i] = static_cast<T>(E::decode(bits[i]));
  });
}

// Calls f(i, value, score), both as T, for the elements of a range.
template <class T, class F>
void for_each_score(const Dense& x, const Dense& scores, Index begin, Index end, F&& f) {
  constexpr Index most = 1024;  // decoded at a time, which avoids code for each pair of dtypes
  T values[most], ranked[most];
  for (Index at = begin; at < end; at += most) {
    const Index n = std::min(most, end - at);
    decode(x, at, n, values);
    decode(scores, at, n, ranked);
    for (Index i = 0; i < n; ++i) f(at + i, values[i], ranked[i]);
  }
}

// The same for all elements, in parallel; ranges are multiples of mask_grain.
template <class T, class F>
void for_each_score(const Dense& x, const Dense& scores, F&& f) {
  parallel_for(x.size(), mask_grain,
               [&](Index begin, Index end) { for_each_score<T>(x, scores, begin, end, f); });
}

// Writes rank(value, score, i) as bits.
template <class F>
Dense ranks_by(const Dense& x, const Dense& scores, bool wide, F&& rank) {
  Dense out{x.extents, Values::uninitialized(wide ? DType::F64 : DType::F32, x.size())};
  const auto fill = [&]<class T, class U>(T, U) {
    const auto to = out.values.mutate<U>();
    for_each_score<T>(x, scores, [&](Index i, T v, T s) { to[i] = rank(v, s, i); });
  };
  if (wide)
    fill(double{}, std::uint64_t{});
  else
    fill(float{}, std::uint32_t{});
  return out;
}

// Keeps elements if keep(value, score) or the value is not finite.
template <class F>
Mask keep_where(const Dense& x, const Dense& scores, F&& keep) {
  if (const auto i = first_nan(scores)) fail_nan(*i);
  Mask mask = Mask::none(x.extents);
  std::uint8_t* bits = mask.bits.mutate();
  for_each_score<double>(x, scores, [&](Index i, double v, double s) {
    if (keep(v, s) || !std::isfinite(v)) set_bit(bits, i);
  });
  return mask;
}

// The entries and their scores, both of rank 1.
struct StoredScores {
  Dense x, scores;
  StoredScores(const char* name, const Entries& e, const Hints& hints) : x{{e.size()}, e.values} {
    const Dense& all = scores_in(name, e.extents, e.values.dtype(), hints);
    if (const auto i = first_nan(all)) fail_nan(*i);
    scores = {{e.size()}, Values::uninitialized(all.dtype(), e.size())};
    with_width(all.values.width(), [&]<class U>(U) {
      const U* from = all.values.as<U>().data();
      U* to = scores.values.mutate<U>().data();
      for (Index k = 0; k < e.size(); ++k) to[k] = from[e.at[k]];
    });
  }
};

// select_stored() of sparsifiers that decide on each element alone.
template <class S>
Mask select_alone(const S& s, const Entries& e, const Hints& hints) {
  const StoredScores line(S::name, e, hints);
  return s.select(line.x, {nullptr, &line.scores, nullptr});
}

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

}  // namespace

std::optional<Index> first_nan(const Dense& x) {
  if (!is_prunable(x.dtype())) return std::nullopt;
  std::atomic<Index> first = x.size();
  with_float(x.dtype(), [&]<class E>(E) {
    const auto v = x.values.as<typename E::Bits>();
    parallel_for(x.size(), mask_grain, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        if (!std::isnan(E::decode(v[i]))) continue;
        for (Index seen = first; i < seen && !first.compare_exchange_weak(seen, i);) continue;
        return;
      }
    });
  });
  if (first == x.size()) return std::nullopt;
  return first.load();
}

bool ranks_are_wide(const Dense& x, const Dense& scores) {
  return x.dtype() == DType::F64 || scores.dtype() == DType::F64;
}

Dense gradient_ranks(const Dense& x, const Dense& gradient, bool wide) {
  if (const auto i = first_nan(gradient)) fail_nan(*i);
  return ranks_by(x, gradient, wide, [](auto w, auto g, Index i) {
    using T = decltype(w);
    const T rank = std::isfinite(w) ? std::abs(w * g) : std::numeric_limits<T>::infinity();
    if (std::isnan(rank)) fail("the score of element {} is 0 times infinity", i);
    return std::bit_cast<BitsOf<T>>(rank);
  });
}

Dense movement_ranks(const Dense& x, const Dense& scores, bool wide, bool below_zero) {
  if (const auto i = first_nan(scores)) fail_nan(*i);
  return ranks_by(x, scores, wide, [below_zero](auto v, auto s, Index) {
    using T = decltype(s);
    using U = BitsOf<T>;
    if (!std::isfinite(v)) s = std::numeric_limits<T>::infinity();
    const U key = kernels::magnitude_key(std::bit_cast<U>(s));
    if (below_zero) return s < 0 ? kernels::greatest_key<U> - key : kernels::greatest_key<U>;
    // One more than the key, so that 0 ranks above all negative scores; infinity leaves room for
    // it.
    return s < 0 ? U{0} : key + 1;
  });
}

Index count_below_zero(const Dense& x, const Dense& scores) {
  if (const auto i = first_nan(scores)) fail_nan(*i);
  std::atomic<Index> total = 0;
  parallel_for(x.size(), mask_grain, [&](Index begin, Index end) {
    Index n = 0;
    for_each_score<double>(x, scores, begin, end,
                           [&](Index, double v, double s) { n += s < 0 && std::isfinite(v); });
    total += n;
  });
  return total;
}

Mask Gradient::select(const Dense& x, const Hints& hints) const {
  const Dense& g = scores_in(name, x, hints);
  return Magnitude{sparsity}.select(gradient_ranks(x, g, ranks_are_wide(x, g)), {});
}

Mask Gradient::select_stored(const Entries& x, const Hints& hints) const {
  const StoredScores line(name, x, hints);
  const Dense ranks = gradient_ranks(line.x, line.scores, ranks_are_wide(line.x, line.scores));
  return Magnitude{sparsity}.select_stored({x.extents, x.at, ranks.values}, {});
}

Dense Movement::scores_of(const Dense& x, const Dense& gradient) {
  if (x.extents != gradient.extents)
    fail_usage("a gradient of shape {} does not fit a tensor of shape {}",
               to_string(gradient.extents), to_string(x.extents));
  return ranks_by(x, gradient, ranks_are_wide(x, gradient),
                  [](auto w, auto g, Index) { return std::bit_cast<BitsOf<decltype(w)>>(-w * g); });
}

void Movement::add_scores(Dense& scores, const Dense& x, const Dense& gradient) {
  float* s = scores.values.mutate<float>().data();
  const float *w = x.values.as<float>().data(), *g = gradient.values.as<float>().data();
  parallel_for(scores.size(), mask_grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) s[i] -= w[i] * g[i];
  });
}

Mask Movement::select(const Dense& x, const Hints& hints) const {
  const Dense& s = scores_in(name, x, hints);
  const bool below_zero =
      std::llround(sparsity * static_cast<double>(x.size())) <= count_below_zero(x, s);
  return Magnitude{sparsity}.select(movement_ranks(x, s, ranks_are_wide(x, s), below_zero), {});
}

Mask SoftMovement::select(const Dense& x, const Hints& hints) const {
  return keep_where(x, scores_in(name, x, hints),
                    [this](double, double s) { return sigmoid_of(s) > at; });
}

Mask SoftMovement::select_stored(const Entries& x, const Hints& hints) const {
  return select_alone(*this, x, hints);
}

Mask VariationalDropout::select(const Dense& x, const Hints& hints) const {
  return keep_where(x, scores_in(name, x, hints), [this](double v, double s) {
    return variational_dropout::log_alpha(v, s) <= at;
  });
}

Mask VariationalDropout::select_stored(const Entries& x, const Hints& hints) const {
  return select_alone(*this, x, hints);
}

VariationalDropout VariationalDropout::make(const Spec& spec) {
  spec.check_keys({"at"});
  VariationalDropout s;
  if (spec.has("at")) s.at = spec.number("at");
  return s;
}

Mask L0::select(const Dense& x, const Hints& hints) const {
  return keep_where(x, scores_in(name, x, hints), [](double, double a) {
    // The gate rises with a and opens at -ln 11 = -2.3979; the formula is needed near that value
    // only.
    return a > -2.3 || (a > -2.5 && hard_concrete::expected(a).z > 0);
  });
}

Mask L0::select_stored(const Entries& x, const Hints& hints) const {
  return select_alone(*this, x, hints);
}

SoftMovement SoftMovement::make(const Spec& spec) {
  spec.check_keys({"at"});
  SoftMovement s;
  if (spec.has("at")) s.at = fraction_of(spec, "at");
  return s;
}

Gradient Gradient::make(const Spec& spec) {
  spec.check_keys({"sparsity"});
  return {fraction_of(spec, "sparsity")};
}

Movement Movement::make(const Spec& spec) {
  spec.check_keys({"sparsity"});
  return {fraction_of(spec, "sparsity")};
}

}  // namespace sten
