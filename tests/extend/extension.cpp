// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "libsten/core/layout/compressed.h"
#include "libsten/core/layout/slots.h"
#include "libsten/core/registry/extension.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/sparsify/streaming.h"

namespace {

using namespace sten;

// Band matrices: all kept elements are at most k columns from the diagonal.
struct Banded : Slots<Banded> {
  static constexpr const char* name = "banded";
  static constexpr const char* own_sparsifier = "band";  // see below
  Index k = 0;
  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("k", self.k);
    f("values", self.values, self.slots());
  }
  Shape slots() const {  // [rows, 2k + 1]; element (r, c) has slot (r, c - r + k)
    if (extents.size() != 2 || k < 0 || k > extents[1])
      fail("banded: a tensor of shape {} has no band of k={}", to_string(extents), k);
    return {extents[0], 2 * k + 1};
  }
  void each(auto&& f) const {
    for (Index r = 0; r < extents[0]; ++r)
      for (Index c = std::max<Index>(0, r - k); c <= std::min(extents[1] - 1, r + k); ++c)
        f(r * extents[1] + c, r * (2 * k + 1) + c - r + k);
  }
};
const bool has_banded = add_layout<Banded>("banded:k=1");

// Keeps every element inside the band.
struct Band {
  static constexpr const char* name = "band";
  Index k = 0;
  Mask select(const Dense& x, const Hints&) const {
    return Banded::pack(x, Mask::none(x.extents), Spec(Banded::name).set("k", k)).stored();
  }
  static Band make(const Spec& spec) {
    spec.check_keys({"k"});
    return {spec.integer("k")};
  }
};
const bool has_band = add_sparsifier<Band>("band:k=1");

// Converts a band to csr without its dense form.
Csr to_csr(const Banded& x, const Spec&) {
  const Index rows = x.extents[0], cols = x.extents[1];
  if (cols > std::numeric_limits<std::int32_t>::max())
    fail("csr: {} columns do not fit 32-bit indices", cols);
  Index nnz = 0;
  x.each([&](Index, Index) { ++nnz; });
  Array<std::int64_t> ptr(rows + 1);
  Array<std::int32_t> index(nnz);
  Values values(x.values.dtype(), nnz);
  Index at = 0;
  x.each([&](Index i, Index slot) {
    index.mutate()[at] = static_cast<std::int32_t>(i % cols);
    values.put(at++, x.values, slot);
    ptr.mutate()[i / cols + 1] = at;
  });
  for (Index r = 0; r < rows; ++r) ptr.mutate()[r + 1] = std::max(ptr[r], ptr[r + 1]);
  return {x.extents, {}, ptr, index, values};
}
const bool has_banded_to_csr = add_edge<Banded, Csr>(to_csr);

// Keeps values of at least a given share of the largest magnitude in their row.
struct RowShare {
  static constexpr const char* name = "row-share";
  double of = 1;
  Index block() const { return std::numeric_limits<Index>::max(); }  // at most a row
  void select(std::span<const float> in, std::span<std::uint8_t> keep) const {
    float largest = 0;
    for (const float v : in) largest = std::max(largest, std::abs(v));
    for (std::size_t i = 0; i < in.size(); ++i) keep[i] = !(std::abs(in[i]) < of * largest);
  }
  static RowShare make(const Spec& spec) {
    spec.check_keys({"of"});
    return {fraction_of(spec, "of")};
  }
};
const bool has_row_share = add_sparsifier<RowShare>("row-share:of=0.5");

// Prunes csr to a band without the dense form.
Banded band_of(const Band& band, const Csr& x, const SparsifyCall& call) {
  if (x.dims.given() || call.layout.integer("k") != band.k) fail_unsupported("another band");
  auto out = with_parameters<Banded>(x.extents, call.layout);
  const Shape slots = out.slots();
  out.values = Values(x.values.dtype(), size_of(slots));
  for (Index r = 0; r < x.extents[0]; ++r)
    for (Index i = x.ptr[r]; i < x.ptr[r + 1]; ++i)
      if (std::abs(x.index[i] - r) <= band.k)
        out.values.put(r * slots[1] + x.index[i] - r + band.k, x.values, i);
  return out;
}
const bool has_band_of = add_sparsifier_implementation<Band, Csr, Banded>(band_of);

}  // namespace
