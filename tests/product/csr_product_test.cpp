// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/csr_product.h"

#include <doctest/doctest.h>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/core/registry/registry.h"
#include "tests/autograd/operator_cases.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

Tensor some_csr(Dice& dice, const Shape& shape, double share) {
  return registry().pack(normals(dice, shape), random_mask(dice, shape, share), Spec("csr"));
}
CsrEntries entries_of_csr(const Tensor& x) { return tokens_of(x)->with(x); }

// Compares relative to the largest value: sums of float32 products in another order.
void check_product(const std::vector<float>& got, const Tensor& wanted) {
  CHECK(furthest({got.begin(), got.end()}, doubles(wanted)) <= 2e-6);
}

}  // namespace

TEST_CASE("unpacked csr products match dense and are bit-identical on any number of threads") {
  Dice dice(1);
  // [m, k] * [k, n] with columns in one slab or several, and with rows copied or not.
  for (const Shape& size :
       {Shape{90, 2100, 300}, {5, 1025, 7}, {130, 40, 128}, {1, 1, 1}, {3, 0, 4}}) {
    const Index m = size[0], k = size[1], n = size[2];
    const Tensor a = some_csr(dice, {m, k}, 0.07), b = normals(dice, {k, n}),
                 c = normals(dice, {m, n}), sparse_b = some_csr(dice, {k, n}, 0.2),
                 sparse_c = some_csr(dice, {m, n}, 0.2), start = normals(dice, {n});
    const CsrEntries entries = entries_of_csr(a);
    const Tensor dense = a.to_dense(), transposed_b = transpose(b);
    const float* at_b = b.values()->as<float>().data();
    const CsrEntries of_b = entries_of_csr(sparse_b), of_c = entries_of_csr(sparse_c);
    std::vector<std::vector<float>> first;
    for (const int team : {1, 2, 3}) {
      const Threads some(team);
      std::vector<std::vector<float>> made;
      const auto product = [&](const RowsOperand& of, const float* from, const Tensor& wanted) {
        std::vector<float> y(m * n);
        csr_product(entries, of, 0, n, from, y.data());
        check_product(y, wanted);
        made.push_back(y);
      };
      const Tensor whole = matmul(dense, b);
      product(RowsOperand::of(at_b, n), nullptr, whole);
      product(RowsOperand::of(at_b, n), start.values()->as<float>().data(), add(whole, start));
      product(RowsOperand::transposed(transposed_b.values()->as<float>().data(), k), nullptr,
              whole);
      product(RowsOperand::of(of_b), nullptr, matmul(dense, Tensor(sparse_b.to_dense())));
      // A range of columns of the transposed matrix.
      const Index col = n / 3;
      std::vector<float> transposed((n - col) * m);
      transposed_csr_product(entries, RowsOperand::of(at_b, n), col, n - col, transposed.data());
      check_product(transposed, transpose(slice(whole, 1, col, n)));
      made.push_back(transposed);
      // c b^T at a's positions.
      for (const bool is_sparse : {false, true}) {
        const Tensor left = is_sparse ? Tensor(sparse_c.to_dense()) : c;
        std::vector<float> sums(a.values()->size());
        sampled_csr_product(
            entries,
            is_sparse ? RowsOperand::of(of_c) : RowsOperand::of(c.values()->as<float>().data(), n),
            RowsOperand::transposed(transposed_b.values()->as<float>().data(), k), n, sums.data());
        const Tensor got = a.with_values([&] {
          Values v(DType::F32, std::ssize(sums));
          std::ranges::copy(sums, v.mutate<float>().begin());
          return v;
        }());
        const Dense at = masked_by(matmul(left, transposed_b).to_dense(), a.stored());
        check_product(
            [&] {
              const Dense d = got.to_dense();
              const auto v = d.values.as<float>();
              return std::vector<float>(v.begin(), v.end());
            }(),
            at);
        made.push_back(sums);
      }
      if (first.empty()) first = made;
      CHECK(made == first);
    }
  }
}

TEST_CASE("transposed csr entries match the transposed matrix") {
  Dice dice(2);
  const Tensor a = some_csr(dice, {30, 50}, 0.2);
  const TransposedEntries transposed(entries_of_csr(a));
  std::vector<float> dense(50 * 30);
  unpack_rows(transposed.entries(), 0, 50, dense.data());
  check_product(dense, transpose(Tensor(a.to_dense())));
}
