// SPDX-License-Identifier: Apache-2.0
// The choice among implementations of a product on a device.
#include <doctest/doctest.h>

#include "libsten/compute/product/device_product_impl.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/registry/route.h"
#include "tests/device/serial_backend.h"
#include "tests/support/laws.h"

using namespace sten;
using namespace sten::testing;

namespace {

using kernels::Factors;

// The names of the implementations of w x, x w^T, dy w, and dy^T x at w's positions.
std::string choice(const Tensor& w, const DeviceProductCall& call) {
  const auto name = [](const auto* impl) { return impl ? impl->name : "none"; };
  return fmt::format("{}, {}, {}, {}", name(device_gemm_impl(w, call)),
                     name(device_linear_impl(w, call)), name(device_transposed_impl(w, call)),
                     name(device_sampled_impl(w, call)));
}

// One letter per implementation.
std::string names_of(const char* letters) {
  std::string text;
  for (const char* c = letters; *c; ++c) {
    const char* name = *c == 'd'   ? "dense copy"
                       : *c == 't' ? "transposed copy"
                       : *c == 'n' ? "nmg"
                       : *c == 's' ? "cuSPARSE"
                                   : "lists";
    text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

Tensor matrix(const char* layout) {
  Dice dice(1);
  const Dense x = normals(dice, {6, 66});
  const Spec spec = Spec::parse(layout);
  return (spec.is("nmg") ? registry().prune(x, spec, spec) : convert(x, spec)).to(Device::cuda);
}

// The choices for up to 127 tokens, for 128 or more, and for 128 or more with rounded factors.
struct Recorded {
  const char *layout, *small, *large, *rounded;
};
constexpr Recorded recorded[] = {
    {"csr", "slll", "slll", "slll"},
    {"nmg:n=1,m=4,g=1", "nlll", "dddd", "dddd"},
    {"nmg:n=1,m=5,g=1", "nlll", "dddd", "dddd"},
    {"nmg:n=1,m=6,g=1", "nlll", "nttd", "nddd"},
    {"nmg:n=1,m=15,g=1", "nlll", "nttd", "nddd"},
    {"nmg:n=1,m=16,g=1", "nlll", "nttd", "nddd"},
    {"nmg:n=1,m=31,g=1", "nlll", "nttd", "nddd"},
    {"nmg:n=1,m=32,g=1", "nlll", "nttl", "nddd"},
    {"nmg:n=1,m=63,g=1", "nlll", "nttl", "nddd"},
    {"nmg:n=1,m=64,g=1", "nlll", "nttl", "nttl"},
    {"nmg:n=2,m=4,g=1", "nlll", "dddd", "dddd"},
    {"nmg:n=2,m=11,g=1", "nlll", "dddd", "dddd"},
    {"nmg:n=2,m=12,g=1", "nlll", "ntdd", "nddd"},
    {"nmg:n=1,m=4,g=1,axis=1", "llll", "dddd", "dddd"},
    {"nmg:n=1,m=15,g=1,axis=1", "llll", "dddd", "dddd"},
    {"nmg:n=1,m=16,g=1,axis=1", "llll", "llld", "dddd"},
    {"nmg:n=1,m=31,g=1,axis=1", "llll", "llld", "dddd"},
    {"nmg:n=1,m=32,g=1,axis=1", "llll", "llll", "dddd"},
    {"nmg:n=1,m=63,g=1,axis=1", "llll", "llll", "dddd"},
    {"nmg:n=1,m=64,g=1,axis=1", "llll", "llll", "llll"},
    {"nmg:n=2,m=4,g=1,axis=1", "llll", "dddd", "dddd"},
    {"nmg:n=2,m=12,g=1,axis=1", "llll", "dddd", "dddd"},
};

}  // namespace

TEST_CASE("each device product is dispatched to the first implementation that supports it" *
          stand_in_only()) {
  const SerialDevice device;
  for (const Recorded& r : recorded) {
    CAPTURE(r.layout);
    const Tensor w = matrix(r.layout);
    for (const Index tokens : {0, 1, 127}) {
      CHECK(choice(w, {tokens, Factors::float32}) == names_of(r.small));
      CHECK(choice(w, {tokens, Factors::tf32}) == names_of(r.small));
    }
    for (const Index tokens : {128, 4096}) {
      CHECK(choice(w, {tokens, Factors::float32}) == names_of(r.large));
      CHECK(choice(w, {tokens, Factors::tf32}) == names_of(r.rounded));
      CHECK(choice(w, {tokens, Factors::bfloat16}) == names_of(r.rounded));
    }
    const RoundedProducts rounded(Factors::bfloat16);
    CHECK(choice(w, {128}) == names_of(r.rounded));
  }
  CHECK(choice(matrix("dense"), {128}) == "cuBLAS, cuBLAS, cuBLAS, lists");
  CHECK(choice(matrix("masked"), {128}) == "none, cuBLAS, cuBLAS, lists");

  kernels::cuda::Backend without = cuda();
  without.products.dense_library =
      without.products.csr_library = [] { return static_cast<const char*>(nullptr); };
  kernels::cuda::set_backend(&without);
  for (const Recorded& r : recorded) {
    CAPTURE(r.layout);
    const std::string letters = r.small;
    CHECK(choice(matrix(r.layout), {4096, Factors::tf32}) ==
          names_of(letters[0] == 's' ? "llll" : r.small));
  }
}
