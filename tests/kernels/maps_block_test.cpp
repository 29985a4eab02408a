// MapFunctions over grids, as a GPU runs them.
#include "kernels/block/maps/maps.h"

#include <doctest/doctest.h>

#include "tests/support/checked_device.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using kernels::MapFunctions;

namespace {

const MapFunctions& map_table(bool checked) {
  static const MapFunctions plain = kernels::map_functions<kernels::SerialGrid>(),
                            careful = kernels::map_functions<CheckedDevice>();
  return checked ? careful : plain;
}

std::vector<float> some_floats(Dice& dice, Index n) {
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(dice.uniform() - 0.3);
  return x;
}

// Twice: as a device does, and in a random order of threads that says what they do to each other.
template <class F>
void with_both(F&& f) {
  for (const bool checked : {false, true}) {
    CAPTURE(checked);
    CheckedDevice::reset(7);
    f(map_table(checked), checked);
    CHECK(CheckedDevice::reports() == std::vector<std::string>{});
  }
}

}  // namespace

TEST_CASE("blocks add a bias and sum rows") {
  with_both([](const MapFunctions& f, bool checked) {
    Dice dice(1);
    using Size = std::pair<Index, Index>;
    std::vector<Size> sizes{{1, 1}, {3, 7}, {200, 33}, {0, 5}, {5, 0}, {70, 1}};
    if (!checked) sizes.insert(sizes.end(), {{9001, 65}, {20000, 1}, {1, 5000}});
    for (const Size& size : sizes) {
      const Index rows = size.first, n = size.second;
      CAPTURE(rows);
      CAPTURE(n);
      const std::vector<float> x = some_floats(dice, rows * n), b = some_floats(dice, n);
      std::vector<float> y = x, sums(n, 7);
      f.add_bias(rows, n, b.data(), y.data(), nullptr);
      f.sum_rows(rows, n, x.data(), sums.data(), nullptr);
      bool is_same = true;
      for (Index i = 0; i < rows * n; ++i) is_same &= y[i] == x[i] + b[i % n];
      CHECK(is_same);
      for (Index j = 0; j < n; ++j) {
        double sum = 0;
        for (Index r = 0; r < rows; ++r) sum += x[r * n + j];
        CHECK(sums[j] == doctest::Approx(sum).epsilon(1e-6));
      }
    }
  });
}
