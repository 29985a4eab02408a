// SPDX-License-Identifier: Apache-2.0
// Sparse gradients of activations, without dense intermediates.
#include <doctest/doctest.h>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/compute/product/sparse_product.h"
#include "tests/product/sparse_tensors.h"
#include "tests/support/parts.h"
#include "tests/support/strict.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Sums of up to 23 products in float32, in another order.
void check_near(const Tensor& got, const Tensor& wanted) {
  const Dense a = got.to_dense(), b = wanted.to_dense();
  REQUIRE(a.extents == b.extents);
  double worst = 0;
  for (Index i = 0; i < a.size(); ++i)
    worst = std::max<double>(worst, std::abs(a.values.as<float>()[i] - b.values.as<float>()[i]));
  CHECK(worst <= 5e-5);
}

Tensor sparse(Dice& dice, const Shape& shape, const std::string& layout) {
  return registry().pack(normals(dice, shape), random_mask(dice, shape, 0.3), Spec(layout));
}

}  // namespace

TEST_CASE("adding broadcast csr tensors is bit-identical to adding dense ones") {
  Dice dice(5);
  const Tensor a = sparse(dice, {2, 3, 4}, "csr"), b = sparse(dice, {1, 1, 4}, "csr");
  const Tensor wanted = add(Tensor(a.to_dense()), Tensor(b.to_dense()));
  CHECK(same_bits(add(a, b).to_dense(), wanted.to_dense()));
}

TEST_CASE("gradients of products from sparse output gradients match dense, in any layout") {
  const Strict strict;
  Dice dice(1);
  const Tensor x = normals(dice, {7, 11}), w = normals(dice, {5, 11}), b = normals(dice, {5}),
               right = normals(dice, {11, 5});
  const Tensor masked = packed(w.to_dense(), random_mask(dice, {5, 11}, 0.5), "masked");
  for (const std::string layout : {"csr", "csc", "coo", "bitmask", "masked"}) {
    CAPTURE(layout);
    const Tensor dy = sparse(dice, {7, 5}, layout);
    for (const Tensor& weight : {w, masked}) {
      const auto grads = [&](const Tensor& seed) {
        Tape tape;
        const Var vx = tape.parameter(x), vw = tape.parameter(weight), vb = tape.parameter(b);
        tape.backward(linear(vx, vw, vb), seed);
        return std::vector<Tensor>{*vx.grad(), *vw.grad(), *vb.grad()};
      };
      const auto got = grads(dy), wanted = grads(dy.to_dense());
      for (int i = 0; i < 3; ++i) {
        CHECK(got[i].spec() == wanted[i].spec());
        check_near(got[i], wanted[i]);
      }
    }
    const auto grads = [&](const Tensor& seed) {
      Tape tape;
      const Var va = tape.parameter(x), vb = tape.parameter(right);
      tape.backward(matmul(va, vb), seed);
      return std::pair(*va.grad(), *vb.grad());
    };
    const auto got = grads(dy), wanted = grads(dy.to_dense());
    check_near(got.first, wanted.first);
    check_near(got.second, wanted.second);
  }
}

TEST_CASE("a network with sparse activations and gradients has the dense weight gradient") {
  const Strict strict;
  Dice dice(2);
  const Tensor x = normals(dice, {6, 8}), w = normals(dice, {10, 8}), v = normals(dice, {4, 10}),
               dy = normals(dice, {6, 4});
  const auto grads = [&](const Formats& formats) {
    Tape tape;
    const Var vw = tape.parameter(w);
    const Var h = relu(linear(Var(x), vw), formats);
    CHECK(h.value().layout() == formats.out.layout.name());
    tape.backward(matmul(h, Var(transpose(v))), dy);
    return *vw.grad();
  };
  const Tensor dense = grads(Formats::dense());
  // csr stores all positive outputs of relu, and gradients at the same positions.
  check_near(grads(OutFormat::fused(registry().sparsifier(Spec("relu")), Spec("csr"))), dense);
}

TEST_CASE("the gradient of scale can have the sparse layout of the output gradient") {
  const Strict strict;
  Dice dice(3);
  const Tensor x = normals(dice, {4, 6}), dy = sparse(dice, {4, 6}, "coo");
  Tape tape;
  const Var v = tape.parameter(x, OutFormat::fused(KeepAll{}, Spec("coo")));
  tape.backward(scale(v, 3), dy);
  CHECK(v.grad()->layout() == "coo");
  check_near(*v.grad(), scale(Tensor(dy.to_dense()), 3));
}

TEST_CASE("linear.grad rejects mismatched gradients, and batched matmul.grad falls back to dense") {
  Dice dice(4);
  const Tensor x = normals(dice, {4, 6}), w = normals(dice, {3, 6});
  const Attributes none;
  const Tensor in[] = {sparse(dice, {4, 5}, "csr"), x, w};
  const OutFormat* formats[] = {&OutFormat::dense(), &OutFormat::dense()};
  CHECK(error_of([&] {
          run("linear.grad", {in, formats, none});
        }) == "linear.grad: the gradient is [4, 5] but the output is [4, 3]");
  std::vector<std::string> log;
  Tape tape;
  const Var v = tape.parameter(normals(dice, {2, 4, 6}));
  const Var y = matmul(v, Var(normals(dice, {6, 3})));
  Operators::log_plans(&log);
  tape.backward(y, sparse(dice, {2, 4, 3}, "csr"));
  Operators::log_plans(nullptr);
  CHECK(has(log.back(),
            "the sparse matrix must be an F32 matrix, got F32 [2, 4, 3]; dense with masks"));
}
