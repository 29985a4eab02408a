// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/dtype.h"

#include <cstddef>
#include <iterator>

namespace sten {
namespace {

struct Row {
  DType type;
  std::string_view name;
  int bits;
  bool prunable;
};

// In the order of the enumeration.
constexpr Row table[] = {
    {DType::BOOL, "BOOL", 8, false},
    {DType::F4, "F4", 4, false},
    {DType::F6_E2M3, "F6_E2M3", 6, false},
    {DType::F6_E3M2, "F6_E3M2", 6, false},
    {DType::U8, "U8", 8, false},
    {DType::I8, "I8", 8, false},
    {DType::F8_E5M2, "F8_E5M2", 8, true},
    {DType::F8_E4M3, "F8_E4M3", 8, true},
    {DType::F8_E8M0, "F8_E8M0", 8, false},
    {DType::F8_E4M3FNUZ, "F8_E4M3FNUZ", 8, false},
    {DType::F8_E5M2FNUZ, "F8_E5M2FNUZ", 8, false},
    {DType::I16, "I16", 16, false},
    {DType::U16, "U16", 16, false},
    {DType::F16, "F16", 16, true},
    {DType::BF16, "BF16", 16, true},
    {DType::I32, "I32", 32, false},
    {DType::U32, "U32", 32, false},
    {DType::F32, "F32", 32, true},
    {DType::C64, "C64", 64, false},
    {DType::F64, "F64", 64, true},
    {DType::I64, "I64", 64, false},
    {DType::U64, "U64", 64, false},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(table); ++i)
    if (table[i].type != static_cast<DType>(i)) return false;
  return std::size(table) == static_cast<std::size_t>(DType::U64) + 1;
}
static_assert(in_order());

const Row& row(DType t) { return table[static_cast<std::size_t>(t)]; }

}  // namespace

std::string_view name_of(DType t) { return row(t).name; }

std::optional<DType> dtype_from(std::string_view name) {
  for (const Row& r : table)
    if (r.name == name) return r.type;
  return std::nullopt;
}

int bits_of(DType t) { return row(t).bits; }
int width_of(DType t) { return row(t).bits % 8 ? 0 : row(t).bits / 8; }
bool is_prunable(DType t) { return row(t).prunable; }

}  // namespace sten
