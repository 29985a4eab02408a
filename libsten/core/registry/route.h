// SPDX-License-Identifier: Apache-2.0
// Conversion between layouts: over direct edges if possible, else through dense.
#pragma once
#include "libsten/core/registry/registry.h"

namespace sten {

// A route: a chain of conversions.
struct Route {
  std::vector<std::string> layouts;  // from, ..., to; one entry if they are equal
  std::string reason;                // one line

  bool through_dense() const;
  // 1 per edge; dense_cost through dense.
  double cost() const;
  static constexpr double dense_cost = 8;
  std::string str() const;  // "csc -> csr -> ell"
};

// The route with the fewest edges, the first by name among equals. Goes through dense if edges do
// not connect the layouts, or if rows and columns would become other dimensions.
Route find_route(const Registry& r, const Spec& from, const Spec& to);

// Converts x to `layout` with exactly its stored positions. Error if the layout cannot hold them.
// taken: receives the route; may be nullptr.
Tensor convert(const Tensor& x, const Spec& layout, Route* taken = nullptr);
Tensor convert(const Registry& r, const Tensor& x, const Spec& layout, Route* taken = nullptr);

}  // namespace sten
