// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/device_lists.h"

#include <limits>

#include "libsten/core/base/cuda.h"
#include "libsten/core/layout/compressed.h"
#include "libsten/core/layout/nmg.h"
#include "libsten/core/layout/nmg_patterns.h"

namespace sten {
namespace {

// Lists by rows or by columns; two types, since both are cached with the positions.
template <bool by_column>
struct DeviceSparseLists {
  Index lists = 0, width = 0;
  Array<std::int64_t> starts;
  Array<std::uint8_t> at;
  Array<std::int32_t> slots;

  kernels::SlabLists view() const { return {lists, width, starts.data(), at.data(), slots.data()}; }
};

template <bool by_column>
DeviceSparseLists<by_column> make_lists(const Tensor& w) {
  const Shape shape = w.shape();
  DeviceSparseLists<by_column> made{shape[by_column ? 1 : 0], shape[by_column ? 0 : 1], {}, {}, {}};
  const auto stored = static_cast<std::size_t>(w.values()->size());
  const auto starts = static_cast<std::size_t>(made.view().slabs() * made.lists) + 1;
  made.starts = Array<std::int64_t>::uninitialized(starts, w.device());
  made.at = Array<std::uint8_t>::uninitialized(stored, w.device());
  made.slots = Array<std::int32_t>::uninitialized(stored, w.device());
  const kernels::SlabListsRoom room{made.starts.mutate(), made.at.mutate(), made.slots.mutate()};
  if (w.is<Csr>()) {
    const Csr& a = w.as<Csr>();
    launch(&kernels::GemmFunctions::csr_lists,
           kernels::CsrPositions{shape[0], shape[1], a.ptr.data(), a.index.data()}, by_column,
           room);
    return made;
  }
  // With axis 1, strips run along the columns of the transposed matrix.
  const Nmg& a = w.as<Nmg>();
  const bool is_transposed = a.axis == 1;
  const DeviceNmgPatterns patterns(a.n, a.m, w.device());
  launch(&kernels::GemmFunctions::nmg_lists,
         kernels::NmgPositions{shape[is_transposed ? 1 : 0], shape[is_transposed ? 0 : 1],
                               patterns.format(a.g), a.index.bytes().data()},
         by_column != is_transposed, room);
  return made;
}

template <bool by_column>
std::shared_ptr<const DeviceSparseLists<by_column>> lists_of(const Tensor& w) {
  check_listed(w);
  return w.of_positions().get<DeviceSparseLists<by_column>>(
      [&] { return make_lists<by_column>(w); });
}

template <bool by_column>
void multiply(const Tensor& w, const kernels::ListOperands& x) {
  launch(&kernels::GemmFunctions::list_product, lists_of<by_column>(w)->view(),
         reinterpret_cast<const float*>(w.values()->bytes().data()), w.values()->size(), x);
}

}  // namespace

void check_listed(const Tensor& w) {
  const bool is_csr = w.is<Csr>();
  if (!is_csr && !w.is<Nmg>())
    fail_unsupported("linear: no product found for {} on a device", w.layout());
  if (w.dtype() != DType::F32)
    fail_unsupported("linear on a device supports F32, got {}", name_of(w.dtype()));
  if (w.shape().size() != 2 || (is_csr ? w.as<Csr>().dims : w.as<Nmg>().dims).given())
    fail_unsupported("linear on a device supports matrices without dims= only");
  if (w.values()->size() > std::numeric_limits<std::int32_t>::max())
    fail_unsupported("linear on a device supports weights of fewer than 2^31 values");
}

void list_product(const Tensor& w, bool is_transposed, const kernels::ListOperands& x) {
  if (is_transposed)
    multiply<true>(w, x);
  else
    multiply<false>(w, x);
}

void list_samples(const Tensor& w, const kernels::SampleOperands& x) {
  launch(&kernels::GemmFunctions::list_samples, lists_of<false>(w)->view(), w.values()->size(), x);
}

}  // namespace sten
