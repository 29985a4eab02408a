// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/precision.h"

#include <doctest/doctest.h>

#include "kernels/isa.h"
#include "libsten/core/base/error.h"
#include "libsten/programs/bench/product.h"

using namespace sten;

TEST_CASE("precision_from accepts short and long names, and rejects unknown names") {
  for (const DType t : bench_precisions) CHECK(precision_from(precision_name(t)) == t);
  CHECK(precision_from("bfloat16") == DType::BF16);
  CHECK(precision_from("f16") == DType::F16);
  CHECK(precision_from("f32") == DType::F32);
  CHECK_THROWS_WITH(precision_from("bf15"),
                    "--precision: unknown precision 'bf15', did you mean 'bf16'? (expected one of "
                    "float32, bf16, float16, int8)");
}

TEST_CASE("BenchProduct::error compares with the exact product of the given weights") {
  for (const char* form : {"gemm", "linear", "chain", "transposed", "sampled"}) {
    CAPTURE(form);
    BenchProduct product(form, {40, 70, 25}, 3);
    const DenseLibrary own = own_loop();
    product.dense(own, 1)();
    CHECK(product.error() > 0);
    CHECK(product.error() < 1e-6);
    if (form == std::string_view("sampled")) continue;
    const BenchProduct::Sparse sparse = product.sparse(BenchLayout::parse("csr:sparsity=0.5"));
    sparse.run();
    CHECK(product.error(sparse.dense) < 1e-6);
    CHECK(product.error() > 0.05);  // the dense weights differ
  }
}

TEST_CASE("dense products in low precision are within the rounding error of their operands") {
  const bool is_amx = kernels::active_isa() >= kernels::Isa::amx;
  for (const char* form : {"gemm", "linear", "chain", "transposed", "sampled"})
    for (const DType precision : {DType::F32, DType::BF16, DType::F16, DType::I8}) {
      const std::string name = precision_name(precision);
      CAPTURE(form);
      CAPTURE(name);
      // Extents that are not multiples of the tile extents; a product of one token.
      for (const Shape& shape : {Shape{48, 96, 64}, Shape{37, 70, 25}, Shape{64, 32, 1}}) {
        BenchProduct product(form, shape, 3);
        const auto variants = product.dense_low(precision, 1);
        if (is_amx && precision == DType::BF16 && find_dense_library("onednn"))
          CHECK_FALSE(variants.empty());
        for (const BenchProduct::Low& variant : variants) {
          CAPTURE(variant.kernel);
          variant.run();
          const double error = product.error();
          const bool is_chain = form == std::string_view("chain");
          // Without AMX, products of int8 use instructions that saturate sums of two.
          const bool saturates = precision == DType::I8 && !is_amx;
          const double most = precision == DType::F32 ? 1e-5 : is_chain ? 0.05 : 0.03;
          CHECK(error < (saturates ? 0.5 : most));
          if (precision == DType::BF16) CHECK(error > 1e-4);
        }
      }
    }
}

TEST_CASE("bfloat16 products of sten's own kernels are within rounding error for 1 to 70 tokens") {
  for (const char* form : {"gemm", "linear", "chain"})
    for (const char* layout : {"dense", "nmgv:n=1,m=4,g=1,v=16", "csr:sparsity=0.5"})
      for (const Index tokens : {Index{1}, Index{17}, Index{70}}) {
        CAPTURE(form);
        CAPTURE(layout);
        CAPTURE(tokens);
        BenchProduct product(form, {64, 96, tokens}, 3);
        const auto own = product.own_bf16(BenchLayout::parse(layout));
        REQUIRE(own.has_value());
        own->run();
        const double error = product.error(own->dense);
        CHECK(error > 1e-4);
        CHECK(error < (form == std::string_view("chain") ? 0.05 : 0.02));
        CHECK(own->flops == doctest::Approx(product.dense_flops() * (layout[0] == 'd'   ? 1
                                                                     : layout[0] == 'n' ? 0.25
                                                                                        : 0.5)));
      }
  CHECK_FALSE(BenchProduct("transposed", {8, 8, 8}, 0).own_bf16(BenchLayout::parse("dense")));
}
