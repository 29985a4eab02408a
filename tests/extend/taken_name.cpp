// SPDX-License-Identifier: Apache-2.0
// An extension with a layout of its own and a sparsifier under the name of a built-in one.
#include "libsten/core/layout/slots.h"
#include "libsten/core/registry/extension.h"
#include "libsten/core/registry/registry.h"

namespace {

using namespace sten;

struct Diagonal : Slots<Diagonal> {
  static constexpr const char* name = "diagonal";
  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("values", self.values, self.slots());
  }
  Shape slots() const { return {extents.at(0)}; }
  void each(auto&& f) const {
    for (Index r = 0; r < std::min(extents[0], extents[1]); ++r) f(r * extents[1] + r, r);
  }
};
const bool has_diagonal = add_layout<Diagonal>("diagonal");

struct Magnitude {
  static constexpr const char* name = "magnitude";
  bool keep(auto, Index) const { return true; }
};
const bool has_magnitude = add_sparsifier<Magnitude>("magnitude");

}  // namespace
