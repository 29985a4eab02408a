// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/dtype.h"

#include <doctest/doctest.h>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("dtype names round-trip, and unknown names are rejected") {
  for (int i = 0; i <= static_cast<int>(DType::U64); ++i) {
    const auto t = static_cast<DType>(i);
    CHECK(dtype_from(name_of(t)) == t);
  }
  CHECK(name_of(DType::F8_E4M3) == "F8_E4M3");
  CHECK(name_of(DType::BOOL) == "BOOL");
  for (const char* unknown : {"", "f32", "F32 ", "F128", "FLOAT"})
    CHECK_FALSE(dtype_from(unknown).has_value());
}

TEST_CASE("each dtype has the bit width and byte width of its format") {
  const std::vector<std::pair<DType, int>> bits{
      {DType::BOOL, 8},        {DType::F4, 4},         {DType::F6_E2M3, 6}, {DType::F6_E3M2, 6},
      {DType::U8, 8},          {DType::I8, 8},         {DType::F8_E5M2, 8}, {DType::F8_E4M3, 8},
      {DType::F8_E8M0, 8},     {DType::I16, 16},       {DType::U16, 16},    {DType::F16, 16},
      {DType::BF16, 16},       {DType::I32, 32},       {DType::U32, 32},    {DType::F32, 32},
      {DType::C64, 64},        {DType::F64, 64},       {DType::I64, 64},    {DType::U64, 64},
      {DType::F8_E4M3FNUZ, 8}, {DType::F8_E5M2FNUZ, 8}};
  CHECK(bits.size() == static_cast<std::size_t>(DType::U64) + 1);
  for (const auto& [type, n] : bits) {
    CHECK(bits_of(type) == n);
    CHECK(width_of(type) == (n % 8 ? 0 : n / 8));
  }
}

TEST_CASE("exactly six dtypes are prunable, and prunable_dtypes lists only those") {
  int prunable = 0;
  for (int i = 0; i <= static_cast<int>(DType::U64); ++i)
    prunable += is_prunable(static_cast<DType>(i));
  CHECK(prunable == 6);
  for (DType t : prunable_dtypes()) CHECK(is_prunable(t));
}

TEST_CASE("with_width passes an integer of the element's width for every movable dtype") {
  for (DType t : movable_dtypes())
    CHECK(with_width(width_of(t), [](auto u) { return static_cast<int>(sizeof(u)); }) ==
          width_of(t));
}
