#include "libsten/ops/sparse_product.h"

#include <doctest/doctest.h>

#include <cmath>

#include "kernels/reference/csr.h"
#include "kernels/reference/gemm.h"
#include "libsten/base/parallel.h"
#include "libsten/dispatch/registry.h"
#include "libsten/dispatch/route.h"
#include "libsten/run/bench/input.h"

using namespace sten;

namespace {

Dense random_sparse(const Shape& shape) {
  const Dense x = bench_input("normal", shape, 5);
  return Dense::pack(x, registry().sparsifier(Spec::parse("magnitude:sparsity=0.7")).select(x));
}

std::vector<double> wide(const Dense& x) {
  const auto v = x.values.as<float>();
  return {v.begin(), v.end()};
}

}  // namespace

TEST_CASE("products of every layout that has one agree with the formula in double") {
  CHECK(sparse_product_layouts() == std::vector<std::string>{"csr", "nmg"});
  const Index shapes[][3] = {{1, 1, 1},     {3, 5, 2}, {16, 16, 64}, {7, 40, 63}, {20, 9, 65},
                             {33, 70, 130}, {0, 4, 3}, {4, 0, 3},    {4, 3, 0},   {64, 1, 200}};
  const int before = threads();
  for (const std::string layout : {"csr", "nmg:n=1,m=3,g=2", "nmg:n=2,m=4,g=3"})
    for (const Index* shape : shapes)
      for (const bool linear : {false, true})
        for (const int team : {1, 3}) {
          const Index m = shape[0], k = shape[1], n = shape[2];
          CAPTURE(layout);
          CAPTURE(m);
          CAPTURE(k);
          CAPTURE(n);
          CAPTURE(linear);
          set_threads(team);
          const Spec spec = Spec::parse(layout);
          const Tensor sparse = spec.is("nmg") ? registry().prune(random_sparse({m, k}), spec, spec)
                                               : convert(random_sparse({m, k}), spec);
          const Dense a = sparse.to_dense();
          const Dense in = bench_input("normal", linear ? Shape{n, k} : Shape{k, n}, 9);
          const std::vector<double> wide_a = wide(a), wide_in = wide(in);
          std::vector<double> wanted(m * n);
          if (linear)
            kernels::gemm_reference(true, n, m, k, wide_in.data(), wide_a.data(), wanted.data());
          else
            kernels::gemm_reference(false, m, n, k, wide_a.data(), wide_in.data(), wanted.data());
          std::vector<float> out(m * n + 1, 7.0f);
          (linear ? sparse_linear : sparse_gemm)(sparse, n, in.values.as<float>().data(),
                                                 out.data());
          double worst = 0;
          for (Index i = 0; i < m * n; ++i) worst = std::fmax(worst, std::abs(out[i] - wanted[i]));
          CHECK(worst <= 1e-5 * std::sqrt(static_cast<double>(k)) + 1e-6);
          CHECK(out.back() == 7.0f);
        }
  set_threads(before);
}

TEST_CASE("a product of a layout that has none is refused, and of what is no F32 matrix too") {
  const Dense a = random_sparse({4, 4});
  std::vector<float> in(16), out(16);
  const auto refused = [&](const Tensor& t, const char* text) {
    CHECK_THROWS_WITH_AS(sparse_gemm(t, 4, in.data(), out.data()), text, Error);
  };
  refused(registry().pack(a, nonzero_mask(a), Spec("bitmask")),
          "product: there is none of bitmask with dense; convert it first");
  const Spec rows = Spec::parse("nmg:n=1,m=2,g=1,axis=1");
  refused(registry().prune(a, rows, rows),
          "product: there is none of nmg with axis=1 with dense; convert it first");
  const Dense cube = Dense::zeros(DType::F32, {2, 2, 2});
  refused(registry().pack(cube, Mask::none({2, 2, 2}), Spec("csr")),
          "product: the sparse matrix is F32 [2, 2, 2], not an F32 matrix");
  const Dense wide = Dense::zeros(DType::F64, {4, 4});
  refused(registry().pack(wide, Mask::none({4, 4}), Spec("csr")),
          "product: the sparse matrix is F64 [4, 4], not an F32 matrix");
}

TEST_CASE("panel products of every ISA agree with the reference") {
  const std::int64_t ptr[] = {0, 3, 3, 4, 8};
  const std::int32_t index[] = {0, 2, 5, 1, 0, 1, 3, 5};
  const float values[] = {1, -2, 0.5f, 3, 2, 2, -1, 0.25f};
  const kernels::CsrView a{ptr, index, values};
  const Dense b = bench_input("normal", {6, kernels::panel_width}, 2);
  const Index ldc = kernels::panel_width + 5;
  std::vector<float> wanted(4 * ldc, -1), got;
  kernels::csr_panel_reference(a, 1, 4, b.values.as<float>().data(), wanted.data(), ldc);
  for (const kernels::Isa isa : kernels::all_isas) {
    kernels::CsrPanel* panel = kernels::csr_panel_for(isa);
    CHECK((panel != nullptr) == kernels::has_isa(isa));
    if (!panel) continue;
    got.assign(4 * ldc, -1);
    panel(a, 1, 4, b.values.as<float>().data(), got.data(), ldc);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(wanted[i]));
    CHECK(got[0] == -1);  // row 0 was not asked for
  }
}
