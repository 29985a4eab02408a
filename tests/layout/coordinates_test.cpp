// SPDX-License-Identifier: Apache-2.0
// csc, coo and ell: stored parts, and rejection of invalid ones.
#include <doctest/doctest.h>

#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

using I32 = std::int32_t;
using I64 = std::int64_t;
using Floats = std::vector<float>;

// 0 1 2 0 / 0 0 0 0 / 3 0 0 4
const Dense& three_by_four() {
  static const Dense x = Dense::of({3, 4}, {0, 1, 2, 0, 0, 0, 0, 0, 3, 0, 0, 4});
  return x;
}
Stored good(const char* spec) { return packed(three_by_four(), spec).save(); }

template <class F>
std::string after(const char* spec, F change) {
  return testing::after(good(spec), change);
}
template <class T>
auto replace(const char* name, Shape shape, const std::vector<T>& v) {
  return [=](Stored& s) {
    part(s, name).shape = shape;
    part(s, name).bytes = bytes_from<T>(v);
  };
}

}  // namespace

TEST_CASE("csc stores column pointers, ascending rows and values column by column") {
  const Stored s = good("csc");
  CHECK(numbers<I64>(s, "ptr") == std::vector<I64>{0, 1, 2, 3, 4});
  CHECK(numbers<I32>(s, "index") == std::vector<I32>{2, 0, 0, 2});
  CHECK(numbers<float>(s, "values") == Floats{3, 1, 2, 4});
}

TEST_CASE("coo stores row and column indices in row-major order") {
  const Stored s = good("coo");
  CHECK(numbers<I32>(s, "row") == std::vector<I32>{0, 0, 2, 2});
  CHECK(numbers<I32>(s, "col") == std::vector<I32>{1, 2, 0, 3});
  CHECK(numbers<float>(s, "values") == Floats{1, 2, 3, 4});
  const Dense batches = Dense::of({2, 2, 2}, {1, 0, 0, 2, 0, 3, 4, 0});
  CHECK(numbers<I32>(packed(batches, "coo:dims=1.2").save(), "row") ==
        std::vector<I32>{0, 1, 2, 3});
}

TEST_CASE("ell pads rows to the longest row and reports the padding") {
  const Tensor t = packed(three_by_four(), "ell");
  const Stored s = t.save();
  CHECK(part(const_cast<Stored&>(s), "index").shape == Shape{3, 2});
  CHECK(numbers<I32>(s, "index") == std::vector<I32>{1, 2, -1, -1, 0, 3});
  CHECK(numbers<float>(s, "values") == Floats{1, 2, 0, 0, 3, 4});
  CHECK(t.padding() == doctest::Approx(2.0 / 12));
}

TEST_CASE("ell rejects one long row among empty rows and suggests csr") {
  Mask m = Mask::none({10, 40});
  for (Index c = 0; c < 40; ++c) m.set(c, true);
  const std::string why = error_of([&] { packed(Dense::zeros(DType::F32, {10, 40}), m, "ell"); });
  CHECK(has(why, "10 rows would be padded to 40 entries each for 40 entries in all"));
  CHECK(has(why, "csr"));
  for (Index r = 1; r < 4; ++r) m.set(r * 40, true);
  m.set(4 * 40, true);
  // 10 rows x 1 entry: fine again.
  for (Index c = 1; c < 40; ++c) m.set(c, false);
  CHECK(packed(Dense::zeros(DType::F32, {10, 40}), m, "ell").stored().count() == 5);
}

TEST_CASE("csc rejects invalid column pointers, row indices and shapes") {
  CHECK(has(after("csc", put<I64>("ptr", 1, 3)), "column pointers decrease at column 1"));
  CHECK(has(after("csc", put<I64>("ptr", 4, 5)), "column pointers end at 5"));
  CHECK(has(after("csc", put<I32>("index", 0, 3)), "column 0: row 3 is out of range for 3 rows"));
  CHECK(has(after("csc", [](Stored& s) { s.shape = {3, 5}; }), "do not fit 5 columns"));
}

TEST_CASE("coo rejects entries that are out of range, repeated or unordered") {
  CHECK(has(after("coo", put<I32>("row", 3, 3)), "entry 3: row 3 is out of range for 3 rows"));
  CHECK(has(after("coo", put<I32>("row", 0, -1)), "entry 0: row -1 is"));
  CHECK(
      has(after("coo", put<I32>("col", 3, 4)), "entry 3: column 4 is out of range for 4 columns"));
  CHECK(
      has(after("coo", put<I32>("col", 1, 1)), "entry 1: position (0, 1) follows position (0, 1)"));
  CHECK(
      has(after("coo", put<I32>("row", 1, 2)), "entry 2: position (2, 0) follows position (2, 2)"));
  CHECK(has(after("coo", replace<I32>("row", {3}, {0, 0, 2})), "do not fit 4 values"));
}

TEST_CASE("ell rejects gaps in rows, invalid columns, nonzero padding and excess slots") {
  CHECK(has(after("ell",
                  [](Stored& s) {
                    put<I32>("index", 0, -1)(s);
                    put<float>("values", 0, 0)(s);
                  }),
            "row 0: entry 1 follows padding"));
  CHECK(
      has(after("ell", put<I32>("index", 1, 4)), "row 0: column 4 is out of range for 4 columns"));
  CHECK(has(after("ell", put<I32>("index", 1, -2)), "row 0: column -2 is"));
  CHECK(has(after("ell", put<I32>("index", 1, 1)), "row 0: column 1 follows column 1"));
  CHECK(has(after("ell", put<float>("values", 2, 5)), "row 1: entry 0 is padding but not 0"));
  CHECK(has(after("ell", replace<I32>("index", {3, 1}, {1, 0, 3})), "do not fit 6 values"));
  CHECK(has(after("ell", replace<I32>("index", {2, 3}, {1, 2, -1, 0, 3, -1})), "expected ["));
  CHECK(has(after("ell",
                  [](Stored& s) {
                    replace<I32>("index", {3, 3}, {1, 2, -1, -1, -1, -1, 0, 3, -1})(s);
                    replace<float>("values", {3, 3}, {1, 2, 0, 0, 0, 0, 3, 4, 0})(s);
                  }),
            "3 slots, but the longest row has 2"));
}

TEST_CASE("coo rejects 2^32 rows without columns, and csc 2^32 columns without rows") {
  const Index many = Index{1} << 32;
  CHECK(has(error_of([&] { packed(Dense::zeros(DType::F32, {many, 0}), "coo"); }), "32-bit"));
  CHECK(has(error_of([&] { packed(Dense::zeros(DType::F32, {0, many}), "csc"); }), "csc"));
}

TEST_CASE("loading ell with 2^50 rows and no columns does not visit every row") {
  Stored s = good("ell");
  s.shape = {Index{1} << 50, 0};
  for (Part& p : s.parts) p = {p.name, p.dtype, {Index{1} << 50, 0}, {}};
  CHECK(registry().load(s).shape() == s.shape);
}
