// SPDX-License-Identifier: Apache-2.0
#include "kernels/nm_select.h"

#include <random>

#include "kernels/families.h"
#include "tests/kernels/fenced.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Words = std::vector<std::uint64_t>;

template <class U>
Words selected(const kernels::NmSelectTable& table, const std::vector<U>& x, Index n, Index m,
               U infinity) {
  Fenced<U> in(x);
  Fenced<std::uint64_t> keep((x.size() + 63) / 64);
  table.of<U>()(in.data(), std::ssize(x), n, m, infinity, keep.data());
  return keep.values();
}

// Checks that all tables agree with the reference.
template <class U>
void check_same(const std::vector<U>& x, Index n, Index m, U infinity) {
  const Words expected = selected(*kernels::nm_select_reference(), x, n, m, infinity);
  for (const kernels::Isa isa : kernels::all_isas)
    if (const auto* table = kernels::nm_select_for(isa))
      if (selected(*table, x, n, m, infinity) != expected)
        FAIL_CHECK(kernels::name_of(isa) << ": " << n << " of " << m << " among " << x.size());
}

template <class U>
void check_width(std::initializer_list<U> infinities) {
  std::mt19937_64 random(sizeof(U));
  for (const U infinity : infinities)
    for (Index m = 1; m <= kernels::most_ranked; m += m < 20 ? 1 : 5)
      for (const Index count : {Index{0}, m, Index{3 * m + m / 2}, Index{512}, Index{1200}}) {
        const auto kinds = random_elements<U>(count, random);
        check_same(kinds[random() % kinds.size()], 1 + static_cast<Index>(random() % m), m,
                   infinity);
        check_same(kinds[5], (m + 1) / 2, m, infinity);
      }
}

}  // namespace

TEST_CASE("n:m selection handles ties, NaN, infinities and a short last block") {
  constexpr std::uint32_t one = 0x3f800000, two = 0x40000000, inf = 0x7f800000, sign = 0x80000000;
  const std::vector<std::uint32_t> x{one,       two | sign, one | sign, 0,    // -2 and 1
                                     one,       inf + 7,    inf | sign, inf,  // NaN, -inf
                                     sign,      0,          0,          1,    // 0 and 1e-45
                                     one | sign};
  for (const kernels::Isa isa : kernels::all_isas)
    if (const auto* table = kernels::nm_select_for(isa)) {
      CHECK(selected(*table, x, 2, 4, inf) == Words{0b1'1001'0110'0011});
      CHECK(selected(*table, x, 1, 4, inf) == Words{0b1'1000'0010'0010});
      CHECK(selected(*table, x, 4, 4, inf) == Words{0b1'1111'1111'1111});
    }
}

TEST_CASE("n:m selection matches the reference under every ISA and element width") {
  check_width<std::uint8_t>({0x7c, 0x7f});
  check_width<std::uint16_t>({0x7c00, 0x7f80});
  check_width<std::uint32_t>({0x7f800000});
  check_width<std::uint64_t>({0x7ff0000000000000});
}
