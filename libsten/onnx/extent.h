// Whole numbers, some of them known only when a model runs: extents of tensors, and what shapes
// are computed from.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/base/shape.h"

namespace sten {

// A number, or a symbol for one. Two symbols may stand for the same number, equal ones always do.
struct Extent {
  Index number = 0;  // where it is known
  int symbol = -1;   // of Extents

  bool is_known() const { return symbol < 0; }
  bool is(Index n) const { return is_known() && number == n; }
  friend bool operator==(const Extent&, const Extent&) = default;
};
using ExtentList = std::vector<Extent>;

inline Extent known(Index n) { return {n, -1}; }
ExtentList known(const Shape& shape);
// Whether all are known; `to` gets them.
bool all_known(const ExtentList& e, Shape& to);

// The symbols of a model. The same expression of the same symbols is the same symbol.
class Extents {
 public:
  // That of an input's "batch"; never negative.
  Extent named(std::string_view name);
  // One that is equal to no other.
  Extent fresh();

  Extent sum(Extent a, Extent b);
  Extent difference(Extent a, Extent b);
  Extent product(const ExtentList& factors);
  // Towards zero; b is not known to be 0.
  Extent quotient(Extent a, Extent b);
  // product(a) / product(b), where that is whole.
  Extent quotient(const ExtentList& a, const ExtentList& b);
  // Any other function of them.
  Extent expression(std::string_view op, Extent a, Extent b);
  // And one that is never negative.
  Extent natural(std::string_view function, Extent of);
  // Whether it cannot be negative: a known number, an extent of an input, or a product of such.
  bool is_natural(Extent e) const;

 private:
  struct Symbol {
    Index coefficient = 1;     // a symbol is a product:
    std::vector<int> factors;  // of symbols that are none, sorted; empty: of itself
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
