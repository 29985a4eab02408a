// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/onednn_product.h"

#include "libsten/compute/linalg/onednn_api.h"
#include "libsten/core/base/array.h"
#include "libsten/core/base/parallel.h"

namespace sten {
namespace {

using onednn::api;

// oneDNN's dtype; dnnl_data_type_undef if it has none.
dnnl_data_type_t type_of(DType t) {
  switch (t) {
    case DType::F32:
      return dnnl_f32;
    case DType::BF16:
      return dnnl_bf16;
    case DType::F16:
      return dnnl_f16;
    case DType::I8:
      return dnnl_s8;
    default:
      return dnnl_data_type_undef;
  }
}

class Multiplied final : public OnednnProduct {
 public:
  Multiplied(const LowProduct& p, bool packs) : p_(p), packs_(packs) {
    if (!api().engine) return;
    const onednn::SignalsHeld held;
    const onednn::TeamOf team(p.threads);
    const bool at = p.transposed == Transpose::a, bt = p.transposed == Transpose::b;
    a_ = described(p.m, p.k, p.factors, at);
    b_ = described(p.k, p.n, p.factors, bt);
    c_ = described(p.m, p.n, p.result, false);
    given_ = p.constant == Transpose::a ? a_ : b_;
    if (packs) {
      const dnnl_dims_t dims{given_.dims[0], given_.dims[1]};
      api().memory_desc_init_by_tag(p.constant == Transpose::a ? &a_ : &b_, 2, dims,
                                    type_of(p.factors), dnnl_format_tag_any);
    }
    constexpr int of_columns = 1 << 1;
    dnnl_matmul_desc_t what;
    onednn::AttributesOf attributes;
    onednn::Description made;
    if (api().matmul_desc_init(&what, &a_, &b_, nullptr, &c_) != dnnl_success ||
        api().primitive_attr_create(attributes.to()) != dnnl_success ||
        (p.columns && api().primitive_attr_set_output_scales(attributes.get(), p.n, of_columns,
                                                             p.columns) != dnnl_success) ||

        api().primitive_desc_create(made.to(), &what, attributes.get(), api().engine, nullptr) !=
            dnnl_success)
      return;
    const char* text = nullptr;
    if (api().primitive_desc_query(made.get(), dnnl_query_impl_info_str, 0, &text) != dnnl_success)
      return;
    kernel_ = text;
    if (kernel_.find("ref") != kernel_.npos) return;
    if (packs) {
      const dnnl_memory_desc_t* order = api().primitive_desc_query_md(
          made.get(), p.constant == Transpose::a ? dnnl_query_src_md : dnnl_query_weights_md, 0);
      if (!order || api().memory_desc_equal(order, &given_)) return;
      (p.constant == Transpose::a ? a_ : b_) = *order;
      onednn::Description reorder;
      if (api().reorder_primitive_desc_create(reorder.to(), &given_, api().engine, order,
                                              api().engine, nullptr) != dnnl_success ||
          api().primitive_create(pack_.to(), reorder.get()) != dnnl_success)
        return;
      packed_ = Array<std::byte>(static_cast<Index>(api().memory_desc_get_size(order)));
    }
    is_ready_ = api().primitive_create(run_.to(), made.get()) == dnnl_success;
  }

  bool is_ready() const { return is_ready_; }
  const std::string& kernel() const override { return kernel_; }
  bool packs() const override { return packs_; }

  void pack(const void* constant) override {
    if (!packs_) return;
    const onednn::TeamOf team(p_.threads);
    onednn::execute(pack_,
                    {{DNNL_ARG_FROM, &given_, constant},
                     {DNNL_ARG_TO, p_.constant == Transpose::a ? &a_ : &b_, packed_.mutate()}});
  }

  void run(const void* a, const void* b, void* c) const override {
    const onednn::TeamOf team(p_.threads);
    if (packs_) (p_.constant == Transpose::a ? a : b) = packed_.data();
    onednn::execute(run_,
                    {{DNNL_ARG_SRC, &a_, a}, {DNNL_ARG_WEIGHTS, &b_, b}, {DNNL_ARG_DST, &c_, c}});
    if (p_.rows) scale_rows(static_cast<float*>(c));
  }

 private:
  // A row-major matrix, or its transpose.
  static dnnl_memory_desc_t described(Index rows, Index cols, DType t, bool transposed) {
    dnnl_memory_desc_t d{};
    const dnnl_dims_t dims{rows, cols}, strides{transposed ? 1 : cols, transposed ? rows : 1};
    api().memory_desc_init_by_strides(&d, 2, dims, type_of(t), strides);
    return d;
  }

  // Here, because the library uses plain loops for scales of rows.
  void scale_rows(float* c) const {
    parallel_for(p_.m, ceil_div(p_.m, p_.threads), [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i)
        for (Index j = 0; j < p_.n; ++j) c[i * p_.n + j] *= p_.rows[i];
    });
  }

  LowProduct p_;
  bool packs_, is_ready_ = false;
  std::string kernel_;
  dnnl_memory_desc_t a_{}, b_{}, c_{}, given_{};
  onednn::Primitive run_, pack_;
  Array<std::byte> packed_;
};

}  // namespace

std::vector<std::shared_ptr<OnednnProduct>> OnednnProduct::find(const LowProduct& product) {
  std::vector<std::shared_ptr<OnednnProduct>> all;
  for (const bool packs : {false, true}) {
    if (packs && product.constant == Transpose::none) continue;
    const auto made = std::make_shared<Multiplied>(product, packs);
    if (made->is_ready()) all.push_back(made);
  }
  return all;
}

}  // namespace sten
