#include "libsten/ops/sparse_product.h"

#include <algorithm>

#include "libsten/dispatch/route.h"
#include "libsten/layout/bitmask.h"
#include "libsten/layout/coo.h"
#include "libsten/layout/ell.h"
#include "libsten/layout/masked.h"
#include "libsten/ops/csr_packed.h"
#include "libsten/ops/nmg_packed.h"
#include "libsten/ops/nmg_product.h"

namespace sten {
namespace {

CsrPacked pack(const Tensor& a) {
  if (a.layout() == Bcsr::name) return pack_bcsr(a.as<Bcsr>());
  if (a.layout() == Nm::name && packs_by_pattern(a.as<Nm>())) return pack_nm(a.as<Nm>());
  const Tensor rows = convert(a, Spec("csr"));
  return pack_csr(entries_of(rows.as<Csr>()));
}

bool runs_by_nmg_kernel(const Tensor& a) {
  return a.layout() == Nmg::name && a.as<Nmg>().axis == 0;
}

constexpr const char* layouts[] = {Bcsr::name, Bitmask::name, Coo::name, Csc::name, Csr::name,
                                   Ell::name,  Masked::name,  Nm::name,  Nmg::name};

// A^T, by its rows.
struct Transposed {
  CsrPacked rows;

  explicit Transposed(const Tensor& a) {
    const Tensor columns = convert(a, Spec("csc"));
    const Csc& c = columns.as<Csc>();
    rows = pack_csr(
        {c.extents[1], c.extents[0], c.ptr.data(), c.index.data(), c.values.as<float>().data()});
  }
};

void multiply_transposed(const Tensor& a, Form form, Index n, const float* in, float* out) {
  check_factor(a);
  const auto transposed = a.derived().get<Transposed>([&] { return Transposed(a); });
  const CsrPacked& rows = transposed->rows;
  packed_product(rows, {form, rows.cols, n, in}, {form, rows.rows, n, out});
}

void multiply(const Tensor& a, Form form, Index n, const float* in, float* out) {
  check_factor(a);
  const Shape shape = a.shape();
  const Activations x{form, shape[1], n, in};
  const ActivationsOut y{form, shape[0], n, out};
  if (runs_by_nmg_kernel(a)) return nmg_product(a.as<Nmg>(), x, y);
  packed_product(*a.derived().get<CsrPacked>([&] { return pack(a); }), x, y);
}

}  // namespace

std::vector<std::string> sparse_product_layouts() {
  return {std::begin(layouts), std::end(layouts)};
}

void sparse_gemm(const Tensor& a, Index n, const float* b, float* c) {
  multiply(a, Form::features, n, b, c);
}

void sparse_linear(const Tensor& a, Index n, const float* x, float* y) {
  multiply(a, Form::tokens, n, x, y);
}

void sparse_transposed_gemm(const Tensor& a, Index n, const float* b, float* c) {
  multiply_transposed(a, Form::features, n, b, c);
}

void sparse_transposed_linear(const Tensor& a, Index n, const float* dy, float* dx) {
  multiply_transposed(a, Form::tokens, n, dy, dx);
}

void check_factor(const Tensor& a) {
  const Stored stored = a.save();
  if (stored.shape.size() != 2 || stored.dtype != DType::F32)
    fail_usage("product: the sparse matrix is {} {}, not an F32 matrix", name_of(stored.dtype),
               to_string(stored.shape));
  if (stored.layout.has("dims")) fail_usage("product: of {} with dims there is none", a.layout());
  if (std::find(std::begin(layouts), std::end(layouts), a.layout()) == std::end(layouts))
    fail_usage("product: there is none of {} with dense; convert it first", a.layout());
}

void pack_anew(const Tensor& a) {
  check_factor(a);
  if (runs_by_nmg_kernel(a))
    NmgPacked(a.as<Nmg>());
  else
    pack(a);
}

}  // namespace sten
