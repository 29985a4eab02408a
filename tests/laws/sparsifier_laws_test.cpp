// What holds for every registered sparsifier.
#include <doctest/doctest.h>

#include "tests/support/laws.h"

using namespace sten;
using namespace sten::testing;

namespace {

bool spare_bits_are_0(const Mask& m) {
  const Index n = m.size();
  return static_cast<Index>(m.bits.size()) == ceil_div(n, 8) &&
         (n % 8 == 0 || m.bits[n / 8] >> n % 8 == 0);
}

}  // namespace

TEST_CASE("every sparsifier selects a mask of the tensor's shape that masked and bitmask hold") {
  Dice dice(1);
  for (const auto& entry : registry().sparsifiers()) {
    CAPTURE(entry.name);
    for (int round = 0; round < 220; ++round) {
      const Shape shape = random_shape(dice);
      const Spec spec = vary_sparsifier(dice, entry.spec, shape);
      const DType dtype = prunable_dtypes()[round % prunable_dtypes().size()];
      const Dense x = any_bits(dice, dtype, shape);
      const Mask had = random_mask(dice, shape, 0.5);
      const Sparsifier s = registry().sparsifier(spec);
      CHECK(s.name() == entry.name);
      const Mask m = s.select(x, {&had});
      const std::string where =
          fmt::format("{} {} {}", spec.str(), name_of(dtype), to_string(shape));
      if (m.extents != shape || !spare_bits_are_0(m)) FAIL_CHECK(where << ": no mask of x");
      if (!same_mask(s.select(x, {&had}), m)) FAIL_CHECK(where << ": another mask the second time");
      if (!same_mask(registry().sparsifier(spec).select(x, {&had}), m))
        FAIL_CHECK(where << ": another mask from the same spec");
      for (const char* layout : {"dense", "masked", "bitmask"})
        if (!same_bits(packed(x, m, layout).to_dense(), masked_by(x, m)))
          FAIL_CHECK(where << ": " << layout << " holds something else");
    }
  }
}

TEST_CASE("every sparsifier selects the same at 1, 2 and 3 threads") {
  Dice dice(2);
  for (const auto& entry : registry().sparsifiers()) {
    CAPTURE(entry.name);
    for (const Shape& shape : {Shape{403, 511}, Shape{70001, 3}, Shape{3, 5, 13001}})
      for (DType dtype : {DType::F32, DType::F8_E4M3}) {
        const Dense x = any_bits(dice, dtype, shape);
        const Mask had = random_mask(dice, shape, 0.5);
        const Sparsifier s = registry().sparsifier(vary_sparsifier(dice, entry.spec, shape));
        const Threads one(1);
        const Mask m = s.select(x, {&had});
        for (int n : {2, 3}) {
          const Threads scope(n);
          CHECK(same_mask(s.select(x, {&had}), m));
        }
      }
  }
}

TEST_CASE("every sparsifier leaves the tensor as it was") {
  Dice dice(3);
  for (const auto& entry : registry().sparsifiers()) {
    CAPTURE(entry.name);
    const Dense x = any_bits(dice, DType::F32, {16, 40});
    const Mask had = random_mask(dice, {16, 40}, 0.5);
    Dense copy = x;
    copy.values.mutate<std::uint32_t>();
    registry().sparsifier(entry.spec).select(x, {&had});
    CHECK(same_bits(x, copy));
  }
}

TEST_CASE("selecting again from what a sparsifier kept keeps nothing that it dropped") {
  // Kept zeros cannot be told from dropped values, so the values have none.
  Dice dice(4);
  for (const auto& entry : registry().sparsifiers()) {
    if (entry.name == "same-pattern" || entry.name == "keep-all") continue;
    CAPTURE(entry.name);
    const Dense x = normals(dice, {48, 72});
    const Sparsifier s = registry().sparsifier(entry.spec);
    const Mask m = s.select(x);
    const Mask again = s.select(masked_by(x, m));
    for (Index i = 0; i < x.size(); ++i)
      if (again[i] && !m[i]) FAIL_CHECK("element " << i);
  }
}
