#include "libsten/ops/sparse_product.h"

#include "kernels/csr.h"
#include "libsten/base/parallel.h"
#include "libsten/layout/compressed.h"
#include "libsten/ops/nmg_product.h"
#include "libsten/ops/tiles.h"

namespace sten {
namespace {

using kernels::panel_width;

// Panels of B's columns, or of X's tokens, are copied to where their rows lie side by side: read in
// place, rows of a power of two of bytes would share a few sets of every cache.
void csr_product(const Csr& a, bool linear, Index n, const float* in, float* out) {
  const Index m = a.extents[0], k = a.extents[1];
  const kernels::CsrView view{a.ptr.data(), a.index.data(), a.values.as<float>().data()};
  parallel_for(ceil_div(n, panel_width), 1, [&](Index begin, Index end) {
    // Kept from call to call: memory that is new each time costs more than small products do.
    thread_local std::vector<float> b, c;
    b.resize(k * panel_width);
    c.resize(m * panel_width);
    for (Index j0 = begin * panel_width; j0 < std::min(n, end * panel_width); j0 += panel_width) {
      const Index cols = std::min(panel_width, n - j0);
      if (cols < panel_width) std::fill(b.begin(), b.end(), 0.0f);
      if (linear)
        transpose_tiles(in + j0 * k, k, cols, k, b.data(), panel_width);
      else
        for (Index p = 0; p < k; ++p) std::copy_n(in + p * n + j0, cols, &b[p * panel_width]);
      if (!linear && cols == panel_width) {
        kernels::csr_panel()(view, 0, m, b.data(), out + j0, n);
        continue;
      }
      kernels::csr_panel()(view, 0, m, b.data(), c.data(), panel_width);
      if (linear)
        transpose_tiles(c.data(), panel_width, m, cols, out + j0 * m, m);
      else
        for (Index r = 0; r < m; ++r) std::copy_n(&c[r * panel_width], cols, out + r * n + j0);
    }
  });
}

struct Product {
  const char* layout;
  void (*run)(const Tensor& a, bool linear, Index n, const float* in, float* out);
};
constexpr Product products[] = {
    {Csr::name, [](const Tensor& a, bool linear, Index n, const float* in,
                   float* out) { csr_product(a.as<Csr>(), linear, n, in, out); }},
    {Nmg::name, [](const Tensor& a, bool linear, Index n, const float* in, float* out) {
       const Nmg& nmg = a.as<Nmg>();
       if (nmg.axis != 0)
         fail_usage("product: there is none of nmg with axis=1 with dense; convert it first");
       const Form form = linear ? Form::tokens : Form::features;
       nmg_product(nmg, {form, nmg.extents[1], n, in}, {form, nmg.extents[0], n, out});
     }}};

void multiply(const Tensor& a, bool linear, Index n, const float* in, float* out) {
  const Stored stored = a.save();
  if (stored.shape.size() != 2 || stored.dtype != DType::F32)
    fail_usage("product: the sparse matrix is {} {}, not an F32 matrix", name_of(stored.dtype),
               to_string(stored.shape));
  if (stored.layout.has("dims")) fail_usage("product: of {} with dims there is none", a.layout());
  for (const Product& p : products)
    if (a.layout() == p.layout) return p.run(a, linear, n, in, out);
  fail_usage("product: there is none of {} with dense; convert it first", a.layout());
}

}  // namespace

std::vector<std::string> sparse_product_layouts() {
  std::vector<std::string> names;
  for (const Product& p : products) names.emplace_back(p.layout);
  return names;
}

void sparse_gemm(const Tensor& a, Index n, const float* b, float* c) {
  multiply(a, false, n, b, c);
}

void sparse_linear(const Tensor& a, Index n, const float* x, float* y) {
  multiply(a, true, n, x, y);
}

}  // namespace sten
