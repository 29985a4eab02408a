// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/onednn_convolution.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <string_view>

#include "kernels/isa.h"
#include "libsten/compute/linalg/onednn_api.h"

namespace sten {
namespace {

using Index = Convolution::Index;

using onednn::api;
using onednn::AttributesOf;
using onednn::Description;
using onednn::execute;
using onednn::Iterator;
using onednn::Primitive;

Index floats_of(const dnnl_memory_desc_t& d) {
  return static_cast<Index>((api().memory_desc_get_size(&d) + sizeof(float) - 1) / sizeof(float));
}

// Whether an implementation sums in an order that depends on the number of threads: oneDNN 2.6's
// brgconv for large and dilated kernels, and its products, unlike those of dense_gemm(). Also true
// for the reference implementation, which is slower than our products.
bool is_left_out(const Convolution& c, const_dnnl_primitive_desc_t made) {
  const char* text = nullptr;
  if (api().primitive_desc_query(made, dnnl_query_impl_info_str, 0, &text) != dnnl_success)
    return true;
  const std::string_view name(text);
  const auto has = [&](const char* part) { return name.find(part) != std::string_view::npos; };
  bool is_large = false;
  for (std::size_t d = 0; d < c.kernel.size(); ++d)
    is_large = is_large || c.kernel[d] > 5 || (c.kernel[d] > 1 && c.dilation[d] > 1);
  return has("gemm") || has("ref") || (is_large && has("brg"));
}

// Chooses the first implementation that is not left out; for gradients of weights, each on one
// thread, the first of all. False if there is none.
bool choose(ConvolutionPart part, const Convolution& c, const dnnl_convolution_desc_t& what,
            const AttributesOf& attributes, const Description* hint, Description& to) {
  Iterator all;
  dnnl_status_t status = api().primitive_desc_iterator_create(
      all.to(), &what, attributes.get(), api().engine, hint ? hint->get() : nullptr);
  for (; status == dnnl_success; status = api().primitive_desc_iterator_next(all.get())) {
    const dnnl_primitive_desc_t made = api().primitive_desc_iterator_fetch(all.get());
    if (!made) return false;
    if (part == ConvolutionPart::weights || !is_left_out(c, made)) {
      *to.to() = made;
      return true;
    }
    api().primitive_desc_destroy(made);
  }
  return false;
}

// oneDNN's strided 1x1 convolutions of fewer channels than a vector has elements write beyond the
// memory they request.
bool is_beyond_memory(const Convolution& c) {
  const Index lanes = kernels::active_isa() <= kernels::Isa::avx2 ? 8 : 16;
  return c.taps() == 1 && c.group_in() < lanes && c.stride != Convolution::Axes{1, 1, 1};
}

// The primitives of a convolution.
class Convolved final : public OnednnConvolution {
 public:
  Convolved(ConvolutionPart part, const Convolution& c, bool has_bias, int threads)
      : threads_(threads) {
    if (!api().engine || is_beyond_memory(c)) return;
    const onednn::SignalsHeld held;
    const onednn::TeamOf team(threads);
    // Two spatial axes, unless the first of three is used.
    const bool is_volume = c.size[0] > 1 || c.kernel[0] > 1 || c.result[0] > 1;
    const int axes = is_volume ? 3 : 2, first = 3 - axes;
    dnnl_dims_t x{c.batch, c.in}, y{c.batch, c.out}, stride, spread, before, after;
    dnnl_dims_t w{c.groups, c.group_out(), c.group_in()};
    const int grouped = c.groups > 1 ? 1 : 0;
    if (!grouped) w[0] = c.out, w[1] = c.in;
    for (int d = 0; d < axes; ++d) {
      const auto from = static_cast<std::size_t>(first + d);
      x[2 + d] = c.size[from];
      y[2 + d] = c.result[from];
      w[2 + grouped + d] = c.kernel[from];
      stride[d] = c.stride[from];
      spread[d] = c.dilation[from] - 1;
      before[d] = c.before[from];
      after[d] = (c.result[from] - 1) * c.stride[from] + (c.kernel[from] - 1) * c.dilation[from] +
                 1 - c.size[from] - c.before[from];
    }
    const auto describe = [](dnnl_memory_desc_t& d, int rank, const dnnl_dims_t& dims,
                             dnnl_format_tag_t tag) {
      return api().memory_desc_init_by_tag(&d, rank, dims, dnnl_f32, tag) == dnnl_success;
    };
    const dnnl_format_tag_t rows = is_volume ? dnnl_ndhwc : dnnl_nhwc;
    const dnnl_format_tag_t plain =
        is_volume ? (grouped ? dnnl_goidhw : dnnl_oidhw) : (grouped ? dnnl_goihw : dnnl_oihw);
    dnnl_memory_desc_t any{};
    const dnnl_dims_t channels{c.out};
    if (!describe(x_, 2 + axes, x, rows) || !describe(y_, 2 + axes, y, rows) ||
        !describe(plain_, 2 + axes + grouped, w, plain) ||
        !describe(any, 2 + axes + grouped, w, dnnl_format_tag_any) ||
        !describe(b_, 1, channels, dnnl_x))
      return;
    AttributesOf attributes;
    if (api().primitive_attr_create(attributes.to()) != dnnl_success ||
        api().primitive_attr_set_scratchpad_mode(attributes.get(), dnnl_scratchpad_mode_user) !=
            dnnl_success)
      return;
    dnnl_convolution_desc_t what;
    Description forward, own;
    if (api().dilated_convolution_forward_desc_init(
            &what,
            part == ConvolutionPart::forward ? dnnl_forward_inference : dnnl_forward_training,
            dnnl_convolution_direct, &x_, &any, has_bias ? &b_ : nullptr, &y_, stride, spread,
            before, after) != dnnl_success)
      return;
    if (part == ConvolutionPart::forward) {
      if (!choose(part, c, what, attributes, nullptr, forward)) return;
    } else if (api().primitive_desc_create(forward.to(), &what, attributes.get(), api().engine,
                                           nullptr) != dnnl_success) {
      return;
    }
    if (part != ConvolutionPart::forward) {
      const dnnl_status_t described =
          part == ConvolutionPart::data
              ? api().dilated_convolution_backward_data_desc_init(
                    &what, dnnl_convolution_direct, &x_, &any, &y_, stride, spread, before, after)
              : api().dilated_convolution_backward_weights_desc_init(&what, dnnl_convolution_direct,
                                                                     &x_, &any, nullptr, &y_,
                                                                     stride, spread, before, after);
      if (described != dnnl_success || !choose(part, c, what, attributes, &forward, own)) return;
    }
    const dnnl_primitive_desc_t chosen =
        part == ConvolutionPart::forward ? forward.get() : own.get();
    const dnnl_memory_desc_t* packed = api().primitive_desc_query_md(
        chosen,
        part == ConvolutionPart::weights ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
    const dnnl_memory_desc_t* scratch =
        api().primitive_desc_query_md(chosen, dnnl_query_scratchpad_md, 0);
    if (!packed || !scratch) return;
    packed_ = *packed;
    scratch_ = *scratch;
    const bool packs_out = part == ConvolutionPart::weights;
    Description reorder;
    is_ready_ = api().primitive_create(run_.to(), chosen) == dnnl_success &&
                api().reorder_primitive_desc_create(reorder.to(), packs_out ? &packed_ : &plain_,
                                                    api().engine, packs_out ? &plain_ : &packed_,
                                                    api().engine, nullptr) == dnnl_success &&
                api().primitive_create(reorder_.to(), reorder.get()) == dnnl_success;
  }
  bool is_ready() const { return is_ready_; }

  Index packed_size() const override { return floats_of(packed_); }
  Index scratch_size() const override { return floats_of(scratch_); }
  bool packs_as(const OnednnConvolution& other) const override {
    return api().memory_desc_equal(&packed_, &static_cast<const Convolved&>(other).packed_) != 0;
  }
  void pack(const float* w, float* packed) const override {
    const onednn::TeamOf team(threads_);
    execute(reorder_, {{DNNL_ARG_FROM, &plain_, w}, {DNNL_ARG_TO, &packed_, packed}});
  }
  void unpack(const float* packed, float* w) const override {
    const onednn::TeamOf team(threads_);
    execute(reorder_, {{DNNL_ARG_FROM, &packed_, packed}, {DNNL_ARG_TO, &plain_, w}});
  }
  void forward(const float* x, const float* packed, const float* b, float* y,
               float* scratch) const override {
    const onednn::TeamOf team(threads_);
    if (b)
      execute(run_, {{DNNL_ARG_SRC, &x_, x},
                     {DNNL_ARG_WEIGHTS, &packed_, packed},
                     {DNNL_ARG_BIAS, &b_, b},
                     {DNNL_ARG_DST, &y_, y},
                     {DNNL_ARG_SCRATCHPAD, &scratch_, scratch}});
    else
      execute(run_, {{DNNL_ARG_SRC, &x_, x},
                     {DNNL_ARG_WEIGHTS, &packed_, packed},
                     {DNNL_ARG_DST, &y_, y},
                     {DNNL_ARG_SCRATCHPAD, &scratch_, scratch}});
  }
  void data(const float* dy, const float* packed, float* dx, float* scratch) const override {
    const onednn::TeamOf team(threads_);
    execute(run_, {{DNNL_ARG_DIFF_DST, &y_, dy},
                   {DNNL_ARG_WEIGHTS, &packed_, packed},
                   {DNNL_ARG_DIFF_SRC, &x_, dx},
                   {DNNL_ARG_SCRATCHPAD, &scratch_, scratch}});
  }
  void weights(const float* x, const float* dy, float* packed, float* scratch) const override {
    const onednn::TeamOf team(threads_);
    execute(run_, {{DNNL_ARG_SRC, &x_, x},
                   {DNNL_ARG_DIFF_DST, &y_, dy},
                   {DNNL_ARG_DIFF_WEIGHTS, &packed_, packed},
                   {DNNL_ARG_SCRATCHPAD, &scratch_, scratch}});
  }

 private:
  int threads_;
  bool is_ready_ = false;
  dnnl_memory_desc_t x_{}, y_{}, b_{}, plain_{}, packed_{}, scratch_{};
  Primitive run_, reorder_;
};

struct CachedPrimitive {
  ConvolutionPart part;
  Convolution c;
  bool has_bias;
  int threads;
  std::shared_ptr<const OnednnConvolution> made;  // nullptr: not supported
};

}  // namespace

std::shared_ptr<const OnednnConvolution> OnednnConvolution::find(ConvolutionPart part,
                                                                 const Convolution& c,
                                                                 bool has_bias, int threads) {
  constexpr std::size_t most = 512;
  static std::mutex lock;
  static std::list<CachedPrimitive> cached;  // most recent first
  const std::lock_guard hold(lock);
  const auto at = std::ranges::find_if(cached, [&](const CachedPrimitive& k) {
    return k.part == part && k.has_bias == has_bias && k.threads == threads && k.c == c;
  });
  if (at != cached.end()) {
    cached.splice(cached.begin(), cached, at);
    return at->made;
  }
  const auto made = std::make_shared<const Convolved>(part, c, has_bias, threads);
  cached.push_front({part, c, has_bias, threads, made->is_ready() ? made : nullptr});
  if (cached.size() > most) cached.pop_back();
  return cached.front().made;
}

}  // namespace sten
