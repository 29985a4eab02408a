#include "libsten/compute/product/device_linear.h"

#include <limits>

#include "libsten/compute/product/device_gemm.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/layout/compressed.h"
#include "libsten/core/layout/nmg.h"
#include "libsten/core/layout/nmg_patterns.h"
#include "libsten/core/tensor/device_view.h"

namespace sten {
namespace {

using kernels::SlabLists;

// Lists by rows or by columns; two types, since both are cached with the positions.
template <bool by_column>
struct DeviceSparseLists {
  Index lists = 0, width = 0;
  Array<std::int64_t> starts;
  Array<std::uint8_t> at;
  Array<std::int32_t> slots;

  SlabLists view() const { return {lists, width, starts.data(), at.data(), slots.data()}; }
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
  on_cuda([&](const kernels::cuda::Backend& cuda, kernels::Stream stream) {
    if (w.is<Csr>()) {
      const Csr& a = w.as<Csr>();
      cuda.gemm.csr_lists({shape[0], shape[1], a.ptr.data(), a.index.data()}, by_column, room,
                          stream);
      return;
    }
    // With axis 1, strips run along the columns of the transposed matrix.
    const Nmg& a = w.as<Nmg>();
    const bool is_transposed = a.axis == 1;
    const DeviceNmgPatterns patterns(a.n, a.m, w.device());
    cuda.gemm.nmg_lists({shape[is_transposed ? 1 : 0], shape[is_transposed ? 0 : 1],
                         patterns.format(a.g), a.index.bytes().data()},
                        by_column != is_transposed, room, stream);
  });
  return made;
}

template <bool by_column>
std::shared_ptr<const DeviceSparseLists<by_column>> lists_of(const Tensor& w) {
  const bool is_csr = w.is<Csr>();
  if (!is_csr && !w.is<Nmg>())
    fail_unsupported("linear: no product found for {} on a device", w.layout());
  if (w.dtype() != DType::F32)
    fail_unsupported("linear on a device supports F32, got {}", name_of(w.dtype()));
  if (w.shape().size() != 2 || (is_csr ? w.as<Csr>().dims : w.as<Nmg>().dims).given())
    fail_unsupported("linear on a device supports matrices without dims= only");
  if (w.values()->size() > std::numeric_limits<std::int32_t>::max())
    fail_unsupported("linear on a device supports weights of fewer than 2^31 values");
  return w.of_positions().get<DeviceSparseLists<by_column>>(
      [&] { return make_lists<by_column>(w); });
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

float* floats_in(Values& v) { return reinterpret_cast<float*>(v.mutate_bytes()); }

Values transposed_copy(Index rows, Index cols, const float* x, Device device) {
  Values to = Values::uninitialized(DType::F32, rows * cols, device);
  on_cuda([&](const kernels::cuda::Backend& cuda, kernels::Stream stream) {
    cuda.windows.transpose(1, rows, cols, x, nullptr, floats_in(to), stream);
  });
  return to;
}

void add_bias(Index tokens, Index out, const float* bias, float* y) {
  if (!bias) return;
  on_cuda([&](const kernels::cuda::Backend& cuda, kernels::Stream stream) {
    cuda.maps.add_bias(tokens, out, bias, y, stream);
  });
}

void multiply_transposed(const Tensor& w, const kernels::ListOperands& x) {
  const Index out = w.shape()[0], in = w.shape()[1];
  const Values b = transposed_copy(x.tokens, in, x.x, w.device());
  Values c = Values::uninitialized(DType::F32, out * x.tokens, w.device());
  const Index n = x.tokens;
  device_nmg_product(w.as<Nmg>(), {out, in, n, reinterpret_cast<const float*>(b.bytes().data()), n,
                                   floats_in(c), n});
  on_cuda([&](const kernels::cuda::Backend& cuda, kernels::Stream stream) {
    cuda.windows.transpose(1, out, x.tokens, floats_in(c), x.bias, x.y, stream);
  });
}

// Computes c[in, n] = w^T b[out, n] in w's own order. False, without effect, if that is not
// supported.
bool multiply_columns(const Tensor& w, Index n, const float* b, float* c) {
  const Nmg& a = w.as<Nmg>();
  const Index out = w.shape()[0], in = w.shape()[1];
  const DeviceNmgPatterns patterns(a.n, a.m, w.device());
  return on_cuda([&](const kernels::cuda::Backend& cuda, kernels::Stream stream) {
    return cuda.products.nmg_transposed(patterns.format(a.g), floats_of_matrix(w),
                                        a.index.bytes().data(), {in, out, n, b, n, c, n}, stream);
  });
}
bool multiply_columns_transposed(const Tensor& w, const kernels::ListOperands& x) {
  if (x.by_features) return multiply_columns(w, x.tokens, x.x, x.y);
  const Index out = w.shape()[0], in = w.shape()[1];
  const Values b = transposed_copy(x.tokens, out, x.x, w.device());
  Values c = Values::uninitialized(DType::F32, in * x.tokens, w.device());
  if (!multiply_columns(w, x.tokens, reinterpret_cast<const float*>(b.bytes().data()),
                        floats_in(c)))
    return false;
  on_cuda([&](const kernels::cuda::Backend& cuda, kernels::Stream stream) {
    cuda.windows.transpose(1, in, x.tokens, floats_in(c), x.bias, x.y, stream);
  });
  return true;
}

// Computes y = x w^T, or x w if transposed; with by_features, y = w x or w^T x.
void multiply_dense(const Tensor& w, bool is_transposed, const kernels::ListOperands& x,
                    float beta = 0) {
  const Dense dense = w.to_dense();
  const auto* of_w = reinterpret_cast<const float*>(dense.values.bytes().data());
  const Index from = w.shape()[is_transposed ? 0 : 1], to = w.shape()[is_transposed ? 1 : 0];
  const Index in = w.shape()[1], n = x.tokens;
  if (x.by_features)
    return device_gemm({.m = to,
                        .n = n,
                        .k = from,
                        .a = of_w,
                        .lda = in,
                        .transpose_a = is_transposed,
                        .b = x.x,
                        .ldb = n,
                        .c = x.y,
                        .ldc = n});
  device_gemm({.m = n,
               .n = to,
               .k = from,
               .a = x.x,
               .lda = from,
               .b = of_w,
               .ldb = in,
               .transpose_b = !is_transposed,
               .c = x.y,
               .ldc = to,
               .beta = beta});
  add_bias(n, to, x.bias, x.y);
}

// Computes grad[out, in] = dy^T x, or with by_features dy x^T; adds to grad if x.adds.
void sample_dense(const Tensor& w, const kernels::SampleOperands& x) {
  const Index out = w.shape()[0], in = w.shape()[1], n = x.tokens;
  device_gemm({.m = out,
               .n = in,
               .k = n,
               .a = x.dy,
               .lda = x.by_features ? n : out,
               .transpose_a = !x.by_features,
               .b = x.x,
               .ldb = x.by_features ? n : in,
               .transpose_b = x.by_features,
               .c = x.grad,
               .ldc = in,
               .beta = x.adds ? 1.0F : 0.0F});
}

// The values at w's positions of a dense matrix.
Values gathered(const Tensor& w, const Values& dense) {
  const Nmg& a = w.as<Nmg>();
  Values to = Values::uninitialized(DType::F32, a.values.size(), w.device());
  const NmgGeometry geo = a.geometry();
  const DeviceNmgPatterns patterns(a.n, a.m, w.device());
  std::byte* out = to.mutate_bytes();
  on_cuda([&](const kernels::cuda::Backend& cuda, kernels::Stream stream) {
    cuda.nmg.gather(patterns.format(a.g), *block_matrix(geo.view), dense.bytes().data(),
                    dense.width(), a.index.bytes().data(), out, stream);
  });
  return to;
}

template <bool by_column>
void multiply_fastest(const Tensor& w, const kernels::ListOperands& x) {
  const DeviceUse use = by_column ? DeviceUse::transposed : DeviceUse::linear;
  switch (device_algorithm(w, x.tokens, use)) {
    case DeviceAlgorithm::dense:
      return multiply_dense(w, by_column, x);
    case DeviceAlgorithm::transposed_copy:
      if constexpr (by_column) {
        if (multiply_columns_transposed(w, x)) return;
      } else if (!x.by_features) {  // by_features is the transposed order already
        return multiply_transposed(w, x);
      }
      [[fallthrough]];
    default:
      return multiply<by_column>(w, x);
  }
}

Values room_for_samples(const Tensor& w, bool is_written) {
  const Index n = w.values()->size();
  return is_written ? Values::uninitialized(DType::F32, n, w.device())
                    : Values(DType::F32, n, w.device());
}

// Adds the products of `count` operands, which follow each other in memory.
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
Tensor sample(const Tensor& w, Index count, kernels::SampleOperands x) {
  if (count > 0 && device_algorithm(w, x.tokens, DeviceUse::sampled) == DeviceAlgorithm::dense) {
    const Index out = w.shape()[0], in = w.shape()[1];
    Values all = Values::uninitialized(DType::F32, out * in, w.device());
    x.grad = floats_in(all);
    for (Index i = 0; i < count; ++i) {
      x.adds = i > 0;
      sample_dense(w, x);
      x.dy += x.tokens * out, x.x += x.tokens * in;
    }
    return w.with_values(gathered(w, all));
  }
  Values grad = room_for_samples(w, count > 0);
  add_samples(w, count, false, x, grad);
  return w.with_values(std::move(grad));
}

}  // namespace

DeviceAlgorithm device_algorithm(const Tensor& w, Index tokens, DeviceUse use) {
  return device_algorithm(w, tokens, use, factors_of_products());
}
// The m / n from which on other algorithms were faster than dense, on an H100 at 1,024 and 4,096
// tokens. A product that may round runs on tensor cores, in an eighth of the time.
DeviceAlgorithm device_algorithm(const Tensor& w, Index tokens, DeviceUse use,
                                 kernels::Factors factors) {
  constexpr Index fewest_tokens = 128, least_transposed = 6, least_if_rounded = 64;
  if (tokens < fewest_tokens || !w.is<Nmg>() || w.dtype() != DType::F32 || w.shape().size() != 2 ||
      w.as<Nmg>().dims.given() || !cuda().products.dense_library())
    return DeviceAlgorithm::lists;
  const Nmg& a = w.as<Nmg>();
  if (factors != kernels::Factors::float32 && least_if_rounded * a.n > a.m)
    return DeviceAlgorithm::dense;
  if (a.axis == 0 && (use == DeviceUse::linear || (use == DeviceUse::transposed && a.n == 1)))
    return least_transposed * a.n > a.m ? DeviceAlgorithm::dense : DeviceAlgorithm::transposed_copy;
  const Index least_m_per_n = use == DeviceUse::sampled ? 32 : 16;
  return least_m_per_n * a.n > a.m ? DeviceAlgorithm::dense : DeviceAlgorithm::lists;
}

void device_nmg_product(const Nmg& a, const kernels::ProductOperands& o) {
  if (a.dims.given())
    fail_unsupported("n:m:g products on a device support matrices without dims= only");
  const DeviceNmgPatterns patterns(a.n, a.m, a.values.device());
  on_cuda([&](const kernels::cuda::Backend& cuda, kernels::Stream stream) {
    cuda.products.nmg(patterns.format(a.g), reinterpret_cast<const float*>(a.values.bytes().data()),
                      a.index.bytes().data(), o, stream);
  });
}

void device_linear(const Tensor& w, Index tokens, const float* x, const float* bias, float* y) {
  multiply_fastest<false>(w, {tokens, false, x, bias, y});
}

void device_transposed_linear(const Tensor& w, Index tokens, const float* dy, float* dx,
                              bool adds) {
  if (!adds) return multiply_fastest<true>(w, {tokens, false, dy, nullptr, dx});
  if (device_algorithm(w, tokens, DeviceUse::transposed) == DeviceAlgorithm::dense)
    return multiply_dense(w, true, {tokens, false, dy, nullptr, dx}, 1);
  Values more = Values::uninitialized(DType::F32, tokens * w.shape()[1], w.device());
  multiply_fastest<true>(w, {tokens, false, dy, nullptr, floats_in(more)});
  const kernels::AddedElements sum{dx, floats_in(more), more.size()};
  on_cuda([&](const kernels::cuda::Backend& cuda, kernels::Stream stream) {
    cuda.steps.add({&sum, 1}, stream);
  });
}

Tensor device_sampled_linear(const Tensor& w, Index tokens, const float* dy, const float* x) {
  return sample(w, 1, {tokens, false, dy, x, nullptr, false});
}

void device_sparse_gemm(const Tensor& w, Index n, const float* b, float* c) {
  multiply_fastest<false>(w, {n, true, b, nullptr, c});
}

void device_transposed_gemm(const Tensor& w, Index n, const float* dc, float* db) {
  multiply_fastest<true>(w, {n, true, dc, nullptr, db});
}

Tensor device_sampled_gemm(const Tensor& w, Index count, Index n, const float* dc, const float* b) {
  return sample(w, count, {n, true, dc, b, nullptr, false});
}

void DeviceSamples::add(Index tokens, const float* dy, const float* x) {
  if (!is_written_) {
    is_dense_ = device_algorithm(w_, tokens, DeviceUse::sampled) == DeviceAlgorithm::dense;
    grad_ = is_dense_
                ? Values::uninitialized(DType::F32, w_.shape()[0] * w_.shape()[1], w_.device())
                : room_for_samples(w_, true);
  }
  const kernels::SampleOperands of{tokens, false, dy, x, nullptr, is_written_};
  if (is_dense_) {
    kernels::SampleOperands dense = of;
    dense.grad = floats_in(grad_);
    sample_dense(w_, dense);
  } else {
    add_samples(w_, 1, is_written_, of, grad_);
  }
  is_written_ = true;
}
Values DeviceSamples::take() && {
  if (is_dense_) return gathered(w_, grad_);
  return is_written_ ? std::move(grad_) : room_for_samples(w_, false);
}

}  // namespace sten
