#include "libsten/compute/product/sparse_product.h"

#include <algorithm>

#include "libsten/compute/product/nmg_packed.h"
#include "libsten/compute/product/nmg_product.h"
#include "libsten/compute/product/nmg_small_batch.h"
#include "libsten/compute/product/packed.h"
#include "libsten/compute/product/packed_strips.h"
#include "libsten/core/layout/bitmask.h"
#include "libsten/core/layout/coo.h"
#include "libsten/core/layout/ell.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/layout/nmgv.h"
#include "libsten/core/registry/route.h"

namespace sten {
namespace {

// Layouts without strips go by rows: by row pairs if there are many tokens.
bool has_strips(const Tensor& a) {
  return a.is<Bcsr>() || (a.is<Nm>() && packs_directly(a.as<Nm>()));
}
PackedStrips pack_strips(const Tensor& a) {
  if (a.is<Bcsr>()) return pack_bcsr(a.as<Bcsr>());
  if (has_strips(a)) return pack_nm(a.as<Nm>());
  const Tensor rows = convert(a, Spec(Csr::name));
  return pack_csr(entries_of(rows.as<Csr>()));
}
PackedRowPairs packed_row_pairs(const Tensor& a) {
  const Tensor rows = convert(a, Spec(Csr::name));
  return pack_row_pairs(entries_of(rows.as<Csr>()));
}

bool runs_by_nmg_kernel(const Tensor& a) { return a.is<Nmg>() && a.as<Nmg>().axis == 0; }

constexpr const char* layouts[] = {Bcsr::name, Bitmask::name, Coo::name, Csc::name, Csr::name,
                                   Ell::name,  Masked::name,  Nm::name,  Nmg::name, Nmgv::name};

// A^T, packed by its rows. pack: pack_csr or pack_row_pairs.
template <class Packed>
struct Transposed : Packed {};
template <class Packed>
Transposed<Packed> pack_transposed(const Tensor& a, Packed (*pack)(const CsrEntries&)) {
  const Tensor columns = convert(a, Spec(Csc::name));
  const Csc& c = columns.as<Csc>();
  return {
      pack({c.extents[1], c.extents[0], c.ptr.data(), c.index.data(), packable(c.values).data()})};
}

// factor: [rows, columns] of the matrix that is multiplied with x.
void check_activations(const Shape& factor, const Activations& x, const ActivationsOut& y) {
  if (x.features != factor[1] || y.features != factor[0] || x.tokens != y.tokens)
    fail_usage("product: {} times {} features of {} tokens does not give {} features of {} tokens",
               to_string(factor), x.features, x.tokens, y.features, y.tokens);
}

Shape shape_of_factor(const Tensor& a) {
  check_factor(a);
  return a.shape();
}

void multiply(const Tensor& a, const Activations& x, const ActivationsOut& y,
              const Epilogue& epilogue) {
  if (runs_by_nmg_kernel(a)) return nmg_product(a, x, y, epilogue);
  if (has_strips(a) || has_small_batch(x, y))
    strips_product(*packed_of<PackedStrips>(a, pack_strips), x, y, epilogue);
  else
    strips_product(*packed_of<PackedRowPairs>(a, packed_row_pairs), x, y, epilogue);
}

void multiply_transposed(const Tensor& a, const Activations& x, const ActivationsOut& y,
                         const Epilogue& epilogue) {
  const auto product = [&](auto pack) {
    using Packed = decltype(pack({}));
    strips_product(*packed_of<Transposed<Packed>>(
                       a, [&](const Tensor& of) { return pack_transposed<Packed>(of, pack); }),
                   x, y, epilogue);
  };
  if (has_small_batch(x, y))
    product(pack_csr);
  else
    product(pack_row_pairs);
}

}  // namespace

std::vector<std::string> sparse_product_layouts() {
  return {std::begin(layouts), std::end(layouts)};
}

bool has_sparse_product(const std::string& layout) {
  if (std::find(std::begin(layouts), std::end(layouts), layout) != std::end(layouts)) return true;
  return layout != Dense::name &&
         !find_route(registry(), Spec(layout), Spec(Csr::name)).through_dense();
}

void sparse_product(const Tensor& a, const Activations& x, const ActivationsOut& y,
                    const Epilogue& epilogue) {
  check_activations(shape_of_factor(a), x, y);
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
  check_activations({shape[1], shape[0]}, x, y);
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
    if (!has_sparse_product(std::string(a.layout())) || !a.values())
      fail_unsupported("product: no product found for {} with dense (convert the matrix first)",
                       a.layout());
    return Checked{};
  });
  if (a.dtype() != DType::F32)
    fail_unsupported("product: the sparse matrix must be an F32 matrix, got {} {}",
                     name_of(a.dtype()), to_string(a.shape()));
}

void pack_anew(const Tensor& a, Index tokens) {
  check_factor(a);
  if (runs_by_nmg_kernel(a) && takes_small_batch(a.as<Nmg>(), tokens))
    NmgByLanes(a.as<Nmg>());
  else if (runs_by_nmg_kernel(a))
    NmgPacked(a.as<Nmg>());
  else if (has_strips(a) || tokens <= narrow_panel_width)
    pack_strips(a);
  else
    packed_row_pairs(a);
}

}  // namespace sten
