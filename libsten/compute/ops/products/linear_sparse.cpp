// SPDX-License-Identifier: Apache-2.0
// Linear layers with sparse activations, and with sparse gradients. If w is also sparse, the
// activations are unpacked, some tokens at a time.
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/products/bias.h"
#include "libsten/compute/ops/products/linear.h"
#include "libsten/compute/product/csr_product.h"
#include "libsten/compute/product/sampled_product.h"
#include "libsten/compute/product/sparse_product.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/registry/route.h"
#include "libsten/core/sparsify/same_pattern.h"

namespace sten {
namespace {

bool is_same_pattern(const OutFormat& f) {
  static const Name name(SamePattern::name);
  return f.inline_by.name() == name;
}

// A matrix of tokens: dense values, or csr entries.
class TokenMatrix {
 public:
  explicit TokenMatrix(const Tensor& x)
      : features_(x.shape().back()), is_sparse_(!has_dense_values(x)) {
    if (x.dtype() != DType::F32 || !x.values() || x.spec().has("dims"))
      fail_unsupported("linear: no product found for {} {}", name_of(x.dtype()), x.spec().str());
    if (!is_sparse_) {
      dense_ = values_of<float>(x);
      return;
    }
    csr_ = convert(x, Spec(Csr::name));
    tokens_ = tokens_of(*csr_);
    entries_ = tokens_->with(*csr_);
  }
  bool is_sparse() const { return is_sparse_; }
  const float* dense() const { return dense_; }
  const CsrEntries& entries() const { return entries_; }
  // Rows [first, first + count), in place or unpacked to `room`.
  const float* rows(Index first, Index count, std::vector<float>& room) const {
    if (!is_sparse_) return dense_ + first * features_;
    room.resize(count * features_);
    unpack_rows(entries_, first, count, room.data());
    return room.data();
  }
  RowsOperand operand() const {
    return is_sparse_ ? RowsOperand::of(entries_) : RowsOperand::of(dense_, features_);
  }

 private:
  Index features_;
  bool is_sparse_;
  const float* dense_ = nullptr;
  std::optional<Tensor> csr_;
  std::shared_ptr<const CsrTokens> tokens_;
  CsrEntries entries_{};
};

// Calls f(first, count) for tiles of tokens with about a megabyte of features.
template <class F>
void each_tile(Index tokens, Index features, F&& f) {
  constexpr Index most = Index{1} << 18;
  const Index at_once = std::max<Index>(64, most / std::max<Index>(1, features) / 64 * 64);
  for (Index first = 0; first < tokens; first += at_once)
    f(first, std::min(at_once, tokens - first));
}

Outputs sparse_linear_forward(const Call& call) {
  const LinearCall l(call);
  const float* bias = l.bias ? values_of<float>(*l.bias) : nullptr;
  const TokenMatrix from(l.x);
  if (!has_dense_values(l.w)) check_factor(l.w);
  return {write_tokens<float>(call.out(), l.y, l.out, [&](Index token, Index count, float* to) {
    if (has_dense_values(l.w))
      return csr_product(rows_of(from.entries(), token, count),
                         RowsOperand::transposed(values_of<float>(l.w), l.in), 0, l.out, bias, to);
    std::vector<float> room;
    each_tile(count, l.in, [&](Index first, Index some) {
      sparse_product(l.w,
                     {ActivationLayout::tokens, l.in, some, from.rows(token + first, some, room)},
                     {ActivationLayout::tokens, l.out, some, to + first * l.out}, {.bias = bias});
    });
  })};
}

// dx = dy w: at the positions of a csr x, or all of it.
Tensor gradient_of_x(const LinearCall& l, const OutFormat& format, const TokenMatrix& dy,
                     const TokenMatrix& in) {
  const bool is_dense = has_dense_values(l.w);
  const auto all = [&](Index token, Index count, float* to) {
    if (is_dense && dy.is_sparse())
      return csr_product(rows_of(dy.entries(), token, count),
                         RowsOperand::of(values_of<float>(l.w), l.in), 0, l.in, nullptr, to);
    if (is_dense)
      return gemm(Transpose::none, count, l.in, l.out, dy.dense() + token * l.out,
                  values_of<float>(l.w), to);
    std::vector<float> room;
    each_tile(count, l.out, [&](Index first, Index some) {
      sparse_transposed_linear(l.w, some, dy.rows(token + first, some, room), to + first * l.in);
    });
  };
  if (!is_same_pattern(format)) return write_tokens<float>(format, l.x.shape(), l.in, all);
  const auto dense_gradient = [&]() -> Tensor {
    Values v = Values::uninitialized(DType::F32, l.x.values()->size());
    float* to = v.mutate<float>().data();
    const CsrEntries& a = in.entries();
    if (is_dense) {
      sampled_csr_product(a, dy.operand(), RowsOperand::transposed(values_of<float>(l.w), l.in),
                          l.out, to);
    } else {
      std::vector<float> room;
      each_tile(l.tokens, l.in, [&](Index first, Index some) {
        room.resize(some * l.in);
        all(first, some, room.data());
        for (Index r = 0; r < some; ++r)
          for (Index e = a.ptr[first + r]; e < a.ptr[first + r + 1]; ++e)
            to[e] = room[r * l.in + a.index[e]];
      });
    }
    return l.x.with_values(std::move(v));
  };
  return gradient_at<float>("linear.grad", l.x, format, dense_gradient,
                            [&](float* to) { all(0, l.tokens, to); });
}

// dw = dy^T x at the positions of a sparse w: the sum over tiles of tokens.
Tensor sampled_gradient(const LinearCall& l, const TokenMatrix& dy, const TokenMatrix& in) {
  Values sum(DType::F32, l.w.values()->size());
  const auto to = sum.mutate<float>();
  std::vector<float> room_of_dy, room;
  each_tile(l.tokens, std::max(l.in, l.out), [&](Index first, Index some) {
    const Tensor term =
        sampled_linear(l.w, some, dy.rows(first, some, room_of_dy), in.rows(first, some, room));
    const auto from = term.values()->as<float>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  });
  return l.w.with_values(std::move(sum));
}

// dw = dy^T x: by the rows of a sparse dy^T if x is dense, otherwise transposed, by the rows of
// x^T.
Tensor gradient_of_w(const LinearCall& l, const OutFormat& format, const TokenMatrix& dy,
                     const TokenMatrix& in) {
  if (is_same_pattern(format) && !has_dense_values(l.w)) {
    check_same_pattern("linear.grad", l.w, format);
    return sampled_gradient(l, dy, in);
  }
  const TransposedEntries columns(in.is_sparse() ? in.entries() : dy.entries());
  const auto rows = [&](Index row, Index count, float* to) {
    if (in.is_sparse())
      transposed_csr_product(columns.entries(), dy.operand(), row, count, to);
    else
      csr_product(rows_of(columns.entries(), row, count), in.operand(), 0, l.in, nullptr, to);
  };
  if (!is_same_pattern(format)) return write_tokens<float>(format, l.w.shape(), l.in, rows);
  return gradient_at<float>(
      "linear.grad", l.w, format, [&]() -> Tensor { refuse_double(l.w); },
      [&](float* to) { rows(0, l.out, to); });
}

// The sum of dy over tokens.
Tensor gradient_of_b(const LinearCall& l, const OutFormat& format, const TokenMatrix& dy) {
  if (!dy.is_sparse()) return bias_gradient(format, l.tokens, l.out, dy.dense());
  std::vector<double> sums(l.out);
  const CsrEntries& a = dy.entries();
  for (std::int64_t e = a.ptr[0]; e < a.ptr[a.rows]; ++e) sums[a.index[e]] += a.values[e];
  return write_each<float>(format, {l.out}, [&](Index j) { return static_cast<float>(sums[j]); });
}

Outputs sparse_linear_grad(const Call& call) {
  const LinearCall l(call, 1);
  if (!has_dense_values(l.w)) check_factor(l.w);
  const TokenMatrix back(call.in[0]), in(l.x);
  Outputs grads(call.formats.size());
  if (call.wants(0)) grads[0] = gradient_of_x(l, call.out(0), back, in);
  if (call.wants(1)) grads[1] = gradient_of_w(l, call.out(1), back, in);
  if (l.bias && call.wants(2)) grads[2] = gradient_of_b(l, call.out(2), back);
  return grads;
}

// The supported layouts of sparse and dense operands.
bool has_products(Name layout) {
  static const std::vector<Name> all = [] {
    std::vector<Name> names{Name("dense")};
    for (const std::string& text : sparse_product_layouts()) names.emplace_back(text);
    return names;
  }();
  return std::ranges::find(all, layout) != all.end();
}
bool is_dense_like(Name layout) { return layout == Name("dense") || layout == Name("masked"); }

}  // namespace

void add_sparse_linear(Operators& all) {
  const Name any_layout(any::layout), bias("dense");
  const auto add = [&](std::vector<Name> in) {
    all.add({"linear", std::move(in), {{any::local, any::layout}}}, sparse_linear_forward,
            [](const Signature& s) { return has_products(s.in[1]) && writes_rows(s.out[0].tmp); });
  };
  const auto add_grad = [&](std::vector<Name> in) {
    std::vector<OutSignature> out(in.size() - 1, {any::sparsifier, any::layout});
    all.add({"linear.grad", std::move(in), std::move(out)}, sparse_linear_grad,
            [](const Signature& s) {
              return has_products(s.in[0]) && has_products(s.in[2]) &&
                     !(is_dense_like(s.in[0]) && is_dense_like(s.in[1])) &&
                     has_product_grads(s, {0, 1});
            });
  };
  add({"csr", any_layout});
  add({"csr", any_layout, bias});
  for (const Name x : {Name("dense"), Name("masked"), Name("csr")}) {
    add_grad({any_layout, x, any_layout});
    add_grad({any_layout, x, any_layout, bias});
  }
}

}  // namespace sten
