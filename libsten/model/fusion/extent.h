// SPDX-License-Identifier: Apache-2.0
// Extents of tensors and integers that shapes are computed from, some of them symbolic.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/core/base/shape.h"

namespace sten {

// A number or a symbol. Equal symbols are equal numbers; different ones may be.
struct Extent {
  Index number = 0;  // if known
  int symbol = -1;   // an index in Extents

  bool is_known() const { return symbol < 0; }
  bool is(Index n) const { return is_known() && number == n; }
  friend bool operator==(const Extent&, const Extent&) = default;
};
using ExtentList = std::vector<Extent>;

inline Extent known(Index n) { return {n, -1}; }
ExtentList known(const Shape& shape);
// Whether all are known; `to` is set to them.
bool all_known(const ExtentList& e, Shape& to);

// The symbols of a model. Equal expressions are the same symbol.
class Extents {
 public:
  // The symbol of an input's "batch"; never negative.
  Extent named(std::string_view name);
  // A new symbol.
  Extent fresh();

  Extent sum(Extent a, Extent b);
  Extent difference(Extent a, Extent b);
  Extent product(const ExtentList& factors);
  // Rounds towards zero; b may be unknown to be nonzero.
  Extent quotient(Extent a, Extent b);
  // product(a) / product(b), if it is an integer.
  Extent quotient(const ExtentList& a, const ExtentList& b);
  // Any other function of extents.
  Extent expression(std::string_view op, Extent a, Extent b);
  // A function of extents that is never negative.
  Extent natural(std::string_view function, Extent of);
  // Whether e cannot be negative: a known number, an extent of an input, or a product of these.
  bool is_natural(Extent e) const;

 private:
  struct Symbol {
    Index coefficient = 1;     // a symbol is the product of this
    std::vector<int> factors;  // and these symbols, sorted; empty: of itself
    bool is_natural = false;
  };
  struct Product {
    Index coefficient = 1;
    std::vector<int> factors;
  };
  Extent symbol(const std::string& key, Symbol s);
  Product product_of(const ExtentList& factors) const;
  Extent extent_of(Product p);
  static std::string text(Extent e);

  std::vector<Symbol> symbols_;
  std::map<std::string, int, std::less<>> by_key_;
};

}  // namespace sten
