// SPDX-License-Identifier: Apache-2.0
// The choice among implementations of a product.
#include "libsten/compute/product/product_impl.h"

#include <doctest/doctest.h>

#include "kernels/isa.h"
#include "libsten/compute/product/bf16_product.h"
#include "libsten/core/registry/route.h"
#include "tests/product/sparse_tensors.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("layout, shape and batch size select the expected product implementation") {
  Dice dice(1);
  const auto tensor = [&](const char* spec, Index rows) {
    return sparse_tensor(dice, normals(dice, {rows, 40}), Spec::parse(spec));
  };
  const auto check = [&](const char* spec, Index rows, const ProductCall& call, const char* name) {
    const Tensor a = tensor(spec, rows);
    CHECK_MESSAGE(sparse_product_impl(a, call).name == std::string(name), spec, " ", call.tokens);
  };
  const char* const nmg = "nmg:n=2,m=4,g=2";
  check(nmg, 64, {1}, "nmg lanes");
  check(nmg, 64, {4}, "nmg lanes");
  check(nmg, 64, {4, true}, "nmg strips");
  check(nmg, 64, {5}, "nmg strips");
  check(nmg, 16, {1}, "nmg strips");  // most lanes have no row block
  check(nmg, 64, {0}, "nmg strips");
  check("nmg:n=2,m=4,g=2,axis=1", 64, {1}, "csr runs");
  check("bcsr:h=4,w=4", 64, {1}, "bcsr runs");
  check("bcsr:h=4,w=4", 64, {100, true}, "bcsr runs");
  check("nm:n=2,m=4", 64, {100}, "nm runs");
  check("nm:n=2,m=4,axis=0", 64, {1}, "nm runs");
  check("nm:n=1,m=10,axis=0", 64, {17}, "csr row pairs");
  for (const char* spec : {"csr", "csc", "coo", "ell", "bitmask", "masked"}) {
    check(spec, 64, {16}, "csr runs");
    check(spec, 64, {16, true}, "csr row pairs");
    check(spec, 64, {17}, "csr row pairs");
  }
  for (const char* spec : {nmg, "bcsr:h=4,w=4", "nm:n=2,m=4", "csr"}) {
    const Tensor a = tensor(spec, 64);
    CHECK(transposed_product_impl(a, {16}).name == std::string("csr runs"));
    CHECK(transposed_product_impl(a, {16, true}).name == std::string("csr row pairs"));
    CHECK(transposed_product_impl(a, {17}).name == std::string("csr row pairs"));
  }
  const auto sampled = [&](const char* spec) {
    return std::string(sampled_product_impl(tensor(spec, 64)).name);
  };
  CHECK(sampled(nmg) == "nm strips");
  CHECK(sampled("nm:n=2,m=4,axis=0") == "nm strips");
  CHECK(sampled("nm:n=2,m=4") == "runs");
  CHECK(sampled("nmg:n=2,m=4,g=2,axis=1") == "runs");
  CHECK(sampled("csr") == "runs");
}

TEST_CASE("bfloat16 small batches share one implementation, and larger csr batches need AMX") {
  Dice dice(2);
  const Dense x = normals(dice, {64, 40});
  const Tensor csr = sparse_tensor(dice, x, Spec("csr")), masked = convert(x, Spec("masked")),
               nmgv = sparse_tensor(dice, x, Spec::parse("nmgv:n=1,m=4,g=2,v=16"));
  const auto check = [&](const Tensor& w, Index most, bool has_larger) {
    const Bf16ProductImpl *small = bf16_product_impl(w, most),
                          *larger = bf16_product_impl(w, most + 1);
    CHECK(small == bf16_product_impl(csr, 1));
    CHECK(small != larger);
    CHECK((larger != nullptr) == has_larger);
  };
  check(x, 16, true);
  check(masked, 16, true);
  check(nmgv, 32, true);
  check(csr, 32, kernels::active_isa() >= kernels::Isa::amx);
  CHECK(bf16_product_impl(Dense::zeros(DType::F16, {64, 40}), 1) == nullptr);
}
