// SPDX-License-Identifier: Apache-2.0
// Products of every layout, compared with double within the rounding bound of float32.
#include "libsten/compute/product/sparse_product.h"

#include <doctest/doctest.h>

#include "libsten/core/registry/registry.h"
#include "tests/product/reference.h"
#include "tests/product/sparse_tensors.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("products of every layout and shape are within the float32 rounding bound") {
  Dice dice(1);
  for (int round = 0; round < 500; ++round) {
    const Spec spec = Spec::parse(sparse_specs[round % sparse_specs.size()]);
    const Index m = dice.below(9) ? 1 + dice.below(dice.below(4) ? 60 : 600) : dice.below(3),
                k = dice.below(9) ? 1 + dice.below(dice.below(4) ? 60 : 500) : dice.below(3),
                n = dice.below(9) ? 1 + dice.below(dice.below(4) ? 60 : 150) : dice.below(3);
    const bool linear = dice.below(2);
    const Tensor t = sparse_tensor(dice, normals(dice, {m, k}), spec);
    const Dense a = t.to_dense(), in = normals(dice, linear ? Shape{n, k} : Shape{k, n});
    const Bounds bounds = product_bounds(linear, a, in, n);
    std::vector<float> first;
    for (const int team : {1, 2, 3}) {
      const Threads scope(team);
      std::vector<float> out(m * n + 1, 7.0f);
      (linear ? sparse_linear : sparse_gemm)(t, n, in.values.as<float>().data(), out.data());
      CHECK_MESSAGE(bounds.violations(out) == 0, spec.str(), " ", m, " ", k, " ", n, " ", linear);
      CHECK(out.back() == 7.0f);
      if (team == 1) first = out;
      CHECK_MESSAGE(out == first, spec.str(), ": threads change nothing");
    }
  }
}

TEST_CASE("every built-in layout except dense has a sparse product") {
  CHECK(sparse_product_layouts() == std::vector<std::string>{"bcsr", "bitmask", "coo", "csc", "csr",
                                                             "ell", "masked", "nm", "nmg", "nmgv"});
}

TEST_CASE("products reject unsupported layouts and sparse tensors that are not F32 matrices") {
  Dice dice(2);
  const Dense a = normals(dice, {4, 4});
  std::vector<float> in(16), out(16);
  const auto refused = [&](const Tensor& t, const char* text) {
    CHECK_THROWS_WITH_AS(sparse_gemm(t, 4, in.data(), out.data()), text, Error);
  };
  refused(a, "product: no product found for dense with dense (convert the matrix first)");
  refused(registry().pack(a, nonzero_mask(a), Spec::parse("csr:dims=1.0")),
          "product: no product found for csr with dims= and dense");
  const Dense cube = Dense::zeros(DType::F32, {2, 2, 2});
  refused(registry().pack(cube, Mask::none({2, 2, 2}), Spec("csr")),
          "product: the sparse matrix must be an F32 matrix, got F32 [2, 2, 2]");
  const Dense wide = Dense::zeros(DType::F64, {4, 4});
  refused(registry().pack(wide, Mask::none({4, 4}), Spec("bitmask")),
          "product: the sparse matrix must be an F32 matrix, got F64 [4, 4]");
}
