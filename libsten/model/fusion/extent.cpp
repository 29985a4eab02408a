// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/fusion/extent.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "libsten/core/base/error.h"

namespace sten {
namespace {

Index times(Index a, Index b) {
  Index product = 0;
  if (__builtin_mul_overflow(a, b, &product)) fail("computed shape exceeds 64 bits");
  return product;
}

}  // namespace

ExtentList known(const Shape& shape) {
  ExtentList all;
  for (const Index n : shape) all.push_back(known(n));
  return all;
}

bool all_known(const ExtentList& e, Shape& to) {
  to.clear();
  for (const Extent& x : e) {
    if (!x.is_known()) return false;
    to.push_back(x.number);
  }
  return true;
}

std::string Extents::text(Extent e) {
  return e.is_known() ? fmt::format("{}", e.number) : fmt::format("s{}", e.symbol);
}

Extent Extents::symbol(const std::string& key, Symbol s) {
  const auto [at, is_new] = by_key_.emplace(key, static_cast<int>(symbols_.size()));
  if (is_new) symbols_.push_back(std::move(s));
  return {0, at->second};
}

Extent Extents::named(std::string_view name) {
  return symbol(fmt::format("name {}", name), {.factors = {}, .is_natural = true});
}
Extent Extents::fresh() {
  return symbol(fmt::format("number {}", symbols_.size()), {.factors = {}, .is_natural = true});
}

bool Extents::is_natural(Extent e) const {
  return e.is_known() ? e.number >= 0 : symbols_[e.symbol].is_natural;
}

Extents::Product Extents::product_of(const ExtentList& factors) const {
  Product p;
  for (const Extent& e : factors) {
    if (e.is_known()) {
      p.coefficient = times(p.coefficient, e.number);
      continue;
    }
    const Symbol& s = symbols_[e.symbol];
    p.coefficient = times(p.coefficient, s.coefficient);
    if (s.factors.empty())
      p.factors.push_back(e.symbol);
    else
      p.factors.insert(p.factors.end(), s.factors.begin(), s.factors.end());
  }
  std::ranges::sort(p.factors);
  return p;
}

Extent Extents::extent_of(Product p) {
  if (p.factors.empty() || p.coefficient == 0) return known(p.coefficient);
  if (p.coefficient == 1 && p.factors.size() == 1) return {0, p.factors[0]};
  const bool is_natural = p.coefficient > 0 && std::ranges::all_of(p.factors, [&](int f) {
                            return symbols_[f].is_natural;
                          });
  const std::string key = fmt::format("{} * {}", p.coefficient, fmt::join(p.factors, " * "));
  return symbol(key, {p.coefficient, std::move(p.factors), is_natural});
}

Extent Extents::product(const ExtentList& factors) { return extent_of(product_of(factors)); }

Extent Extents::sum(Extent a, Extent b) {
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  if (a.is_known() && b.is_known()) {
    Index sum = 0;
    if (__builtin_add_overflow(a.number, b.number, &sum)) fail("computed shape exceeds 64 bits");
    return known(sum);
  }
  std::string x = text(a), y = text(b);
  if (y < x) std::swap(x, y);
  return symbol(x + " + " + y, {.factors = {}, .is_natural = is_natural(a) && is_natural(b)});
}

Extent Extents::difference(Extent a, Extent b) {
  if (a == b) return known(0);
  if (b.is(0)) return a;
  if (a.is_known() && b.is_known()) {
    Index difference = 0;
    if (__builtin_sub_overflow(a.number, b.number, &difference))
      fail("computed shape exceeds 64 bits");
    return known(difference);
  }
  return symbol(text(a) + " - " + text(b), {});
}

Extent Extents::quotient(Extent a, Extent b) {
  if (b.is(1)) return a;
  if (a.is_known() && b.is_known() && b.number != 0 && b.number != -1)
    return known(a.number / b.number);
  const Product p = product_of({a});
  if (b.is_known() && b.number > 0 && p.coefficient % b.number == 0)
    return extent_of({p.coefficient / b.number, p.factors});
  if (!b.is_known()) {  // if b is one of a's factors
    const Product q = product_of({b});
    std::vector<int> rest;
    std::ranges::set_difference(p.factors, q.factors, std::back_inserter(rest));
    if (rest.size() + q.factors.size() == p.factors.size() && q.coefficient != 0 &&
        p.coefficient % q.coefficient == 0)
      return extent_of({p.coefficient / q.coefficient, std::move(rest)});
  }
  return symbol(text(a) + " / " + text(b),
                {.factors = {}, .is_natural = is_natural(a) && is_natural(b)});
}

Extent Extents::quotient(const ExtentList& a, const ExtentList& b) {
  const Product p = product_of(a), q = product_of(b);
  std::vector<int> above, below;
  std::ranges::set_difference(p.factors, q.factors, std::back_inserter(above));
  std::ranges::set_difference(q.factors, p.factors, std::back_inserter(below));
  if (below.empty() && q.coefficient != 0 && p.coefficient % q.coefficient == 0)
    return extent_of({p.coefficient / q.coefficient, std::move(above)});
  return fresh();
}

Extent Extents::expression(std::string_view op, Extent a, Extent b) {
  return symbol(fmt::format("{} {} {}", op, text(a), text(b)), {});
}

Extent Extents::natural(std::string_view function, Extent of) {
  return symbol(fmt::format("{} of {}", function, text(of)), {.factors = {}, .is_natural = true});
}

}  // namespace sten
