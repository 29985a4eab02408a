// SPDX-License-Identifier: Apache-2.0
// The CPU form of a device's products: its n:m:g kernels, and plain loops in place of libraries.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/block/product/nmg_products.h"

namespace sten::kernels {

class PlainProduct : public PreparedProduct {
 public:
  struct Element {
    std::int64_t row, col;
    float value;
  };
  explicit PlainProduct(std::vector<Element> a) : a_(std::move(a)) {}
  void run(const ProductOperands& x, Stream) override {
    for (std::int64_t r = 0; r < x.rows; ++r) std::fill_n(x.c + r * x.ldc, x.n, 0.0f);
    for (const Element& e : a_)
      for (std::int64_t j = 0; j < x.n; ++j)
        x.c[e.row * x.ldc + j] += e.value * x.b[e.col * x.ldb + j];
  }
  static PreparedProduct* of_csr(std::int64_t rows, std::int64_t, std::int64_t,
                                 const std::int64_t* row_ptr, const std::int32_t* columns,
                                 const float* values, Stream) {
    std::vector<Element> all;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = row_ptr[r]; i < row_ptr[r + 1]; ++i)
        all.push_back({r, columns[i], values[i]});
    return new PlainProduct(std::move(all));
  }

 private:
  std::vector<Element> a_;
};

// Pointers are to host memory.
template <class Grid>
ProductFunctions product_functions() {
  const auto name = [] { return "plain loops"; };
  return {name, ProductsOn<Grid>::nmg, ProductsOn<Grid>::nmg_transposed, name,
          PlainProduct::of_csr};
}

}  // namespace sten::kernels
