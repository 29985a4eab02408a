// From one layout to another: over direct edges if they lead there, else through dense.
#pragma once
#include "libsten/dispatch/registry.h"

namespace sten {

// A way of converting, as data.
struct Route {
  std::vector<std::string> layouts;  // from, ..., to; only one where nothing is to be done
  std::string reason;                // one line

  bool through_dense() const;
  std::string str() const;  // "csc -> csr -> ell"
};

// The fewest edges, the first by name among equals; through dense where there is no way over
// edges, or where rows and columns would have to become other dimensions. Needs no tensor.
Route find_route(const Registry& r, const Spec& from, const Spec& to);

// The tensor in another layout, with exactly the positions it stores: Error where the layout cannot
// hold them. `taken`, if not null, becomes the route.
Tensor convert(const Tensor& x, const Spec& layout, Route* taken = nullptr);
// The same with the layouts and edges of another registry than registry().
Tensor convert(const Registry& r, const Tensor& x, const Spec& layout, Route* taken = nullptr);

}  // namespace sten
