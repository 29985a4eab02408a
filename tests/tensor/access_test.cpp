// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/access.h"

#include <doctest/doctest.h>

#include "libsten/core/layout/compressed.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("tensor_of copies vectors and spans and takes the dtype of their elements") {
  const std::vector<float> v{1, 2, 3, 4, 5, 6};
  const Tensor x = tensor_of({2, 3}, v);
  CHECK(x.shape() == Shape{2, 3});
  CHECK(to_vector<float>(x) == v);
  CHECK(to_vector<float>(tensor_of({3}, std::span(v).subspan(2, 3))) ==
        std::vector<float>{3, 4, 5});
  std::int64_t ids[] = {7, -8};
  const Tensor copy = tensor_of({2, 1}, std::span(ids));
  ids[0] = 0;
  CHECK(copy.dtype() == DType::I64);
  CHECK(to_vector<std::int64_t>(copy) == std::vector<std::int64_t>{7, -8});
  const std::uint16_t bits[] = {0x3f80, 0x4000};
  CHECK(tensor_of({2}, DType::BF16, std::as_bytes(std::span(bits))).dtype() == DType::BF16);
  CHECK(tensor_of({0, 2}, std::vector<double>()).dtype() == DType::F64);
  CHECK(error_of([&] { tensor_of({2, 2}, v); }) == "shape [2, 2] has 4 elements, got 6");
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{-2, -3}, Shape{0}})
    CHECK(fault_of([&] { tensor_of(shape, v); }) != std::nullopt);
  CHECK(error_of([&] { tensor_of({1}, DType::F32, std::as_bytes(std::span(bits, 1))); }) ==
        "expected F32 elements of 4 bytes, got 2 bytes");
  CHECK(fault_of([&] { tensor_of({4}, DType::F4, std::as_bytes(std::span(bits, 1))); }) ==
        Fault::usage);
}

TEST_CASE("reading elements as another dtype is rejected") {
  const Tensor x = tensor_of({2}, std::vector<double>{1, 2});
  CHECK(data<double>(x)[1] == 2);
  CHECK(has(error_of([&] { (void)data<float>(x); }), "the tensor is F64, expected F32"));
  CHECK(has(error_of([&] { (void)data<std::int64_t>(x); }), "the tensor is F64, expected I64"));
  CHECK(has(error_of([&] { (void)to_vector<float>(x); }), "the tensor is F64, expected F32"));
  const Dense d = Dense::of({2, 2}, {0, 3, 0, 4});
  const Tensor sparse = Csr::pack(d, nonzero_mask(d), Spec("csr"));
  CHECK(has(error_of([&] { (void)data<float>(sparse); }),
            "the tensor has layout csr, expected dense"));
  CHECK(to_vector<float>(sparse) == std::vector<float>{0, 3, 0, 4});
}

TEST_CASE("values can be viewed only as their own type or as unsigned integers of their width") {
  Values v(DType::F64, 3);
  CHECK(v.as<double>().size() == 3);
  CHECK(v.as<std::uint64_t>().size() == 3);
  v.mutate<double>()[1] = 2;
  CHECK(v.as<double>()[1] == 2);
  CHECK(error_of([&] { (void)v.as<float>(); }) == "expected F32 elements, got F64");
  CHECK(error_of([&] { (void)v.as<std::int64_t>(); }) == "expected I64 elements, got F64");
  CHECK(error_of([&] { (void)v.mutate<float>(); }) == "expected F32 elements, got F64");
  CHECK(error_of([&] { (void)v.as<std::uint32_t>(); }) ==
        "expected elements of 4 bytes, got F64 (8 bytes)");
  CHECK(fault_of([&] { (void)v.mutate<std::uint16_t>(); }) == Fault::usage);
  CHECK(fault_of([&] { (void)Values(DType::F16, 1).as<std::int16_t>(); }) == Fault::usage);
  CHECK(Values(DType::BOOL, 1).as<std::uint8_t>().size() == 1);
}

TEST_CASE("number() returns the value of a one-element tensor and rejects other tensors") {
  const auto of = [](auto v) { return number(tensor_of({1, 1}, std::vector{v})); };
  CHECK(of(2.5f) == 2.5);
  CHECK(of(1e300) == 1e300);
  CHECK(of(std::int8_t{-3}) == -3);
  CHECK(of(std::int64_t{-5}) == -5);
  CHECK(of(~std::uint64_t{}) == 0x1p64);
  const auto low = [](DType t, std::uint16_t bits) {
    return number(tensor_of({}, t, std::as_bytes(std::span(&bits, 1))));
  };
  CHECK(low(DType::F16, 0x3c00) == 1);
  CHECK(low(DType::BF16, 0x3f80) == 1);
  const Tensor sparse = Csr::pack(Dense::of({1, 1}, {7}), Mask::all({1, 1}), Spec("csr"));
  CHECK(number(sparse) == 7);
  const Tensor two = Dense::of({2}, {1, 2}), none = Dense::of({0}, {}),
               complex = Dense::zeros(DType::C64, {});
  CHECK(error_of([&] { (void)number(two); }) ==
        "number(): expected a tensor of 1 element, got 2 in shape [2]");
  CHECK(fault_of([&] { (void)number(none); }) == Fault::usage);
  CHECK(fault_of([&] { (void)number(complex); }) == Fault::usage);
}
