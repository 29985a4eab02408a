// SPDX-License-Identifier: Apache-2.0
#include "kernels/epilogue.h"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

using namespace sten::kernels;

TEST_CASE("streaming stores write exactly the given rows at any offset and length") {
  constexpr std::int64_t rows = 3, stride = 100, most = 70;
  std::vector<float> from(rows * stride);
  std::iota(from.begin(), from.end(), 1.0f);
  for (const Isa isa : all_isas) {
    const EpilogueTable* table = epilogue_for(isa);
    if (!table) continue;
    for (std::int64_t begin = 0; begin < 20; ++begin)
      for (std::int64_t columns = 0; columns <= most; ++columns) {
        std::vector<float> to(begin + rows * (stride + 1));
        table->stream(from.data(), stride, rows, columns, to.data() + begin, stride + 1);
        table->stream_done();
        std::vector<float> wanted(to.size());
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t j = 0; j < columns; ++j)
            wanted[begin + r * (stride + 1) + j] = from[r * stride + j];
        REQUIRE_MESSAGE(to == wanted, name_of(isa), " ", begin, " ", columns);
      }
  }
}
