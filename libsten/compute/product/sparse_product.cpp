// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/sparse_product.h"

#include <algorithm>

#include "libsten/compute/product/nmg_packed.h"
#include "libsten/compute/product/nmg_small_batch.h"
#include "libsten/compute/product/packed.h"
#include "libsten/compute/product/packed_strips.h"
#include "libsten/compute/product/product_impl.h"
#include "libsten/core/layout/bitmask.h"
#include "libsten/core/layout/coo.h"
#include "libsten/core/layout/ell.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/layout/nmgv.h"
#include "libsten/core/registry/route.h"

namespace sten {
namespace {

NmgPacked nmg_strips(const Tensor& a) { return NmgPacked(a.as<Nmg>()); }
PackedStrips bcsr_runs(const Tensor& a) { return pack_bcsr(a.as<Bcsr>()); }
PackedStrips nm_runs(const Tensor& a) { return pack_nm(a.as<Nm>()); }

// pack: pack_csr or pack_row_pairs.
template <auto pack>
auto pack_rows(const Tensor& a) {
  const Tensor rows = convert(a, Spec(Csr::name));
  return pack(entries_of(rows.as<Csr>()));
}

// A^T, packed by its rows.
template <class Packed>
struct Transposed : Packed {};
template <auto pack>
auto pack_columns(const Tensor& a) {
  const Tensor columns = convert(a, Spec(Csc::name));
  const Csc& c = columns.as<Csc>();
  return Transposed<decltype(pack({}))>{
      pack({c.extents[1], c.extents[0], c.ptr.data(), c.index.data(), packable(c.values).data()})};
}

bool supports_nmg_strips(const Tensor& a, const ProductCall&) {
  return a.is<Nmg>() && a.as<Nmg>().axis == 0;
}
bool supports_bcsr(const Tensor& a, const ProductCall&) { return a.is<Bcsr>(); }
bool is_small_batch(const Tensor&, const ProductCall& call) { return call.is_small_batch(); }

template <auto pack>
constexpr SparseProductImpl by_strips(const char* name, decltype(always)* supports) {
  return {
      name, supports,
      [](const Tensor& a, const Activations& x, const ActivationsOut& y, const Epilogue& epilogue) {
        strips_product(*packed_of<decltype(pack(a))>(a, pack), x, y, epilogue);
      },
      [](const Tensor& a) { pack(a); }};
}

// The last two convert A to csr.
constexpr SparseProductImpl product_impls[] = {
    {"nmg lanes", supports_nmg_lanes, nmg_small_batch_product,
     [](const Tensor& a) { NmgByLanes(a.as<Nmg>()); }},
    by_strips<nmg_strips>("nmg strips", supports_nmg_strips),
    by_strips<bcsr_runs>("bcsr runs", supports_bcsr),
    by_strips<nm_runs>("nm runs", supports_nm_runs),
    by_strips<pack_rows<pack_csr>>("csr runs", is_small_batch),
    by_strips<pack_rows<pack_row_pairs>>("csr row pairs", always),
};
constexpr SparseProductImpl transposed_impls[] = {
    by_strips<pack_columns<pack_csr>>("csr runs", is_small_batch),
    by_strips<pack_columns<pack_row_pairs>>("csr row pairs", always),
};

constexpr const char* layouts[] = {Bcsr::name, Bitmask::name, Coo::name, Csc::name, Csr::name,
                                   Ell::name,  Masked::name,  Nm::name,  Nmg::name, Nmgv::name};

Shape shape_of_factor(const Tensor& a) {
  check_factor(a);
  return a.shape();
}

void multiply(const Tensor& a, const Activations& x, const ActivationsOut& y,
              const Epilogue& epilogue) {
  sparse_product_impl(a, ProductCall::of(x, y)).multiply(a, x, y, epilogue);
}

void multiply_transposed(const Tensor& a, const Activations& x, const ActivationsOut& y,
                         const Epilogue& epilogue) {
  transposed_product_impl(a, ProductCall::of(x, y)).multiply(a, x, y, epilogue);
}

}  // namespace

const SparseProductImpl& sparse_product_impl(const Tensor& a, const ProductCall& call) {
  return *first_supporting(product_impls, a, call);
}
const SparseProductImpl& transposed_product_impl(const Tensor& a, const ProductCall& call) {
  return *first_supporting(transposed_impls, a, call);
}

std::vector<std::string> sparse_product_layouts() {
  return {std::begin(layouts), std::end(layouts)};
}

bool has_sparse_product(std::string_view layout) {
  if (std::find(std::begin(layouts), std::end(layouts), layout) != std::end(layouts)) return true;
  return layout != Dense::name &&
         !find_route(registry(), Spec(std::string(layout)), Spec(Csr::name)).through_dense();
}

void sparse_product(const Tensor& a, const Activations& x, const ActivationsOut& y,
                    const Epilogue& epilogue) {
  const Shape shape = shape_of_factor(a);
  check_extents("product", shape[0], shape[1], x, y);
  multiply(a, x, y, epilogue);
}

SparseFactor::SparseFactor(Tensor a) : a_(std::move(a)) { check_factor(a_); }

void SparseFactor::multiply(const Activations& x, const ActivationsOut& y,
                            const Epilogue& epilogue) const {
  sten::multiply(a_, x, y, epilogue);
}

void sparse_transposed_product(const Tensor& a, const Activations& x, const ActivationsOut& y,
                               const Epilogue& epilogue) {
  const Shape shape = shape_of_factor(a);
  check_extents("product", shape[1], shape[0], x, y);
  multiply_transposed(a, x, y, epilogue);
}

void sparse_gemm(const Tensor& a, Index n, const float* b, float* c) {
  const Shape shape = shape_of_factor(a);
  multiply(a, {ActivationLayout::features, shape[1], n, b},
           {ActivationLayout::features, shape[0], n, c}, {});
}

void sparse_linear(const Tensor& a, Index n, const float* x, float* y) {
  const Shape shape = shape_of_factor(a);
  multiply(a, {ActivationLayout::tokens, shape[1], n, x},
           {ActivationLayout::tokens, shape[0], n, y}, {});
}

void sparse_transposed_gemm(const Tensor& a, Index n, const float* b, float* c) {
  const Shape shape = shape_of_factor(a);
  multiply_transposed(a, {ActivationLayout::features, shape[0], n, b},
                      {ActivationLayout::features, shape[1], n, c}, {});
}

void sparse_transposed_linear(const Tensor& a, Index n, const float* dy, float* dx) {
  const Shape shape = shape_of_factor(a);
  multiply_transposed(a, {ActivationLayout::tokens, shape[0], n, dy},
                      {ActivationLayout::tokens, shape[1], n, dx}, {});
}

void check_factor(const Tensor& a) {
  struct Checked {};
  a.of_positions().get<Checked>([&] {
    const Shape shape = a.shape();
    if (shape.size() != 2)
      fail_unsupported("product: the sparse matrix must be an F32 matrix, got {} {}",
                       name_of(a.dtype()), to_string(shape));
    if (a.spec().has("dims"))
      fail_unsupported("product: no product found for {} with dims= and dense", a.layout());
    if (!has_sparse_product(a.layout()) || !a.values())
      fail_unsupported("product: no product found for {} with dense (convert the matrix first)",
                       a.layout());
    return Checked{};
  });
  if (a.dtype() != DType::F32)
    fail_unsupported("product: the sparse matrix must be an F32 matrix, got {} {}",
                     name_of(a.dtype()), to_string(a.shape()));
}

void repack(const Tensor& a, Index tokens) {
  check_factor(a);
  sparse_product_impl(a, {tokens}).pack(a);
}

}  // namespace sten
