#include "libsten/product/device_linear.h"

#include <limits>

#include "libsten/base/cuda.h"
#include "libsten/layout/compressed.h"
#include "libsten/layout/nmg.h"
#include "libsten/layout/nmg_patterns.h"

namespace sten {
namespace {

using kernels::SlabLists;

// By rows or by columns; kept as two types of what is derived from positions.
template <bool by_column>
struct ListsThere {
  Index lists = 0, width = 0;
  Array<std::int64_t> starts;
  Array<std::uint8_t> at;
  Array<std::int32_t> slots;

  SlabLists view() const { return {lists, width, starts.data(), at.data(), slots.data()}; }
};

template <bool by_column>
ListsThere<by_column> make_lists(const Tensor& w) {
  const Shape shape = w.shape();
  ListsThere<by_column> made{shape[by_column ? 1 : 0], shape[by_column ? 0 : 1], {}, {}, {}};
  const auto stored = static_cast<std::size_t>(w.values()->size());
  const auto starts = static_cast<std::size_t>(made.view().slabs() * made.lists) + 1;
  made.starts = Array<std::int64_t>::uninitialized(starts, w.device());
  made.at = Array<std::uint8_t>::uninitialized(stored, w.device());
  made.slots = Array<std::int32_t>::uninitialized(stored, w.device());
  const kernels::SlabListsRoom room{made.starts.mutate(), made.at.mutate(), made.slots.mutate()};
  on_cuda([&](const kernels::cuda::Backend& cuda, kernels::Stream stream) {
    if (w.is<Csr>()) {
      const Csr& a = w.as<Csr>();
      cuda.gemm.csr_lists({shape[0], shape[1], a.ptr.data(), a.index.data()}, by_column, room,
                          stream);
      return;
    }
    // With axis 1 it is the transpose that has strips down its rows.
    const Nmg& a = w.as<Nmg>();
    const bool is_turned = a.axis == 1;
    const NmgPatternsThere patterns(a.n, a.m, w.device());
    cuda.gemm.nmg_lists({shape[is_turned ? 1 : 0], shape[is_turned ? 0 : 1], patterns.format(a.g),
                         a.index.bytes().data()},
                        by_column != is_turned, room, stream);
  });
  return made;
}

template <bool by_column>
std::shared_ptr<const ListsThere<by_column>> lists_of(const Tensor& w) {
  const bool is_csr = w.is<Csr>();
  if (!is_csr && !w.is<Nmg>())
    fail_unsupported("there is no product of tokens with {} on a device", w.layout());
  if (w.dtype() != DType::F32)
    fail_unsupported("products on a device are of F32, not of {}", name_of(w.dtype()));
  if (w.shape().size() != 2 || (is_csr ? w.as<Csr>().dims : w.as<Nmg>().dims).given())
    fail_unsupported("products of tokens on a device are with whole matrices");
  if (w.values()->size() > std::numeric_limits<std::int32_t>::max())
    fail_unsupported("products of tokens on a device are with fewer than 2^31 values");
  return w.of_positions().get<ListsThere<by_column>>([&] { return make_lists<by_column>(w); });
}

const float* floats_of_matrix(const Tensor& w) {
  return reinterpret_cast<const float*>(w.values()->bytes().data());
}

template <bool by_column>
void multiply(const Tensor& w, const kernels::ListOperands& x) {
  const auto lists = lists_of<by_column>(w);
  on_cuda([&](const kernels::cuda::Backend& cuda, kernels::Stream stream) {
    cuda.gemm.list_product(lists->view(), floats_of_matrix(w), w.values()->size(), x, stream);
  });
}

Values room_for_samples(const Tensor& w, bool is_written) {
  const Index n = w.values()->size();
  return is_written ? Values::uninitialized(DType::F32, n, w.device())
                    : Values(DType::F32, n, w.device());
}

// Of `count` operands, as far apart as they are large.
void add_samples(const Tensor& w, Index count, bool adds, kernels::SampleOperands x, Values& grad) {
  const auto lists = lists_of<false>(w);
  const SlabLists of = lists->view();
  x.grad = reinterpret_cast<float*>(grad.mutate_bytes());
  on_cuda([&](const kernels::cuda::Backend& cuda, kernels::Stream stream) {
    for (Index i = 0; i < count; ++i) {
      x.adds = adds || i > 0;
      cuda.gemm.list_samples(of, grad.size(), x, stream);
      x.dy += x.tokens * of.lists, x.x += x.tokens * of.width;
    }
  });
}
Tensor sample(const Tensor& w, Index count, const kernels::SampleOperands& x) {
  Values grad = room_for_samples(w, count > 0);
  add_samples(w, count, false, x, grad);
  return w.with_values(std::move(grad));
}

}  // namespace

void device_linear(const Tensor& w, Index tokens, const float* x, const float* bias, float* y) {
  multiply<false>(w, {tokens, false, x, bias, y});
}

void device_transposed_linear(const Tensor& w, Index tokens, const float* dy, float* dx) {
  multiply<true>(w, {tokens, false, dy, nullptr, dx});
}

Tensor device_sampled_linear(const Tensor& w, Index tokens, const float* dy, const float* x) {
  return sample(w, 1, {tokens, false, dy, x, nullptr, false});
}

void device_sparse_gemm(const Tensor& w, Index n, const float* b, float* c) {
  multiply<false>(w, {n, true, b, nullptr, c});
}

void device_transposed_gemm(const Tensor& w, Index n, const float* dc, float* db) {
  multiply<true>(w, {n, true, dc, nullptr, db});
}

Tensor device_sampled_gemm(const Tensor& w, Index count, Index n, const float* dc, const float* b) {
  return sample(w, count, {n, true, dc, b, nullptr, false});
}

void DeviceSamples::add(Index tokens, const float* dy, const float* x) {
  if (!is_written_) grad_ = room_for_samples(w_, true);
  add_samples(w_, 1, is_written_, {tokens, false, dy, x, nullptr, false}, grad_);
  is_written_ = true;
}
Values DeviceSamples::take() && {
  return is_written_ ? std::move(grad_) : room_for_samples(w_, false);
}

}  // namespace sten
