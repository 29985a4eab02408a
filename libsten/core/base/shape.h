// SPDX-License-Identifier: Apache-2.0
// Extents of a tensor.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sten {

using Index = std::int64_t;
using Shape = std::vector<Index>;

// Number of elements; 1 for rank 0. The extents must pass checked_size().
Index size_of(const Shape& shape);

// The same, checked: Error if an extent is negative or the product of the nonzero extents does not
// fit in 62 bits. Huge extents beside a 0 are refused too, since partial products are used
// everywhere.
Index checked_size(const Shape& shape);

// Returns "[768, 3072]".
std::string to_string(const Shape& shape);

// Quotient rounded up; a >= 0, b > 0.
constexpr Index ceil_div(Index a, Index b) { return a / b + (a % b != 0); }

}  // namespace sten
