// SPDX-License-Identifier: Apache-2.0
// Invalid parts of a stored tensor are refused, without reads out of bounds.
#include <doctest/doctest.h>

#include "tests/support/bad_input.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

using I32 = std::int32_t;
using I64 = std::int64_t;

Stored csr() {
  return packed(Dense::of({3, 4}, {0, 1, 2, 0, 0, 0, 0, 0, 3, 0, 0, 4}), "csr").save();
}
Stored bitmask() {
  return packed(Dense::of({2, 5}, {1, 0, 3, 0, 0, 6, 7, 0, 0, 10}), "bitmask").save();
}
Stored masked() {
  return packed(Dense::of({2, 5}, {1, 0, 3, 0, 0, 6, 7, 0, 0, 10}), "masked").save();
}
Stored nm() { return packed(Dense::of({1, 5}, {1, 0, 2, 0, 3}), "nm:n=2,m=3").save(); }
Stored nmg() {
  return packed(Dense::of({3, 3}, {1, 0, 5, 0, 2, 0, 3, 0, 0}), "nmg:n=1,m=2,g=1").save();
}

}  // namespace

TEST_CASE("uncorrupted test tensors load") {
  for (const Stored& s : {csr(), bitmask(), masked(), nm(), nmg()})
    CHECK(error_of([&] { registry().load(s); }) == "");
}

TEST_CASE("csr rejects row pointers that do not start at 0, decrease, or do not end at nnz") {
  // 0 2 2 4
  CHECK(held(54, has(after(csr(), put<I64>("ptr", 0, 1)), "start at 1")));
  CHECK(has(after(csr(), put<I64>("ptr", 0, -1)), "start at -1"));
  CHECK(has(after(csr(), put<I64>("ptr", 2, 1)), "decrease at row 1"));
  CHECK(has(after(csr(), put<I64>("ptr", 2, 5)), "decrease at row 2"));
  CHECK(has(after(csr(), put<I64>("ptr", 1, INT64_MIN)), "decrease at row 0"));
  CHECK(has(after(csr(), put<I64>("ptr", 3, 3)), "end at 3"));
  CHECK(has(after(csr(), put<I64>("ptr", 3, 1000000)), "end at 1000000"));
  CHECK(has(after(csr(), put<I64>("ptr", 3, INT64_MAX)), "end at 9223372036854775807"));
}

TEST_CASE("csr rejects columns that are out of range, repeated or unordered") {
  // 1 2 | | 0 3
  CHECK(
      has(after(csr(), put<I32>("index", 1, 4)), "row 0: column 4 is out of range for 4 columns"));
  CHECK(has(after(csr(), put<I32>("index", 0, -1)), "column -1"));
  CHECK(has(after(csr(), put<I32>("index", 3, INT32_MAX)), "row 2"));
  CHECK(has(after(csr(), put<I32>("index", 1, 1)), "column 1 follows column 1"));
  CHECK(has(after(csr(), put<I32>("index", 0, 3)), "column 2 follows column 3"));
}

TEST_CASE("csr rejects parts whose counts do not match each other or the shape") {
  CHECK(has(after(csr(),
                  [](Stored& s) {
                    part(s, "index").shape = {3};
                    part(s, "index").bytes = bytes_from<I32>({1, 2, 0});
                  }),
            "3 column indices do not fit 4 values"));
  for (const std::vector<I64>& ptr : {std::vector<I64>{0, 2, 4}, {0, 2, 2, 2, 4}, {}}) {
    CHECK(has(after(csr(),
                    [&](Stored& s) {
                      part(s, "ptr").shape = {std::ssize(ptr)};
                      part(s, "ptr").bytes = bytes_from(ptr);
                    }),
              "do not fit 3 rows"));
  }
  CHECK(has(after(csr(), [](Stored& s) { s.shape = {2, 4}; }), "do not fit 2 rows"));
  CHECK(after(csr(), [](Stored& s) { s.shape = {3, 3}; }) != "");
  CHECK(after(csr(), [](Stored& s) { s.shape = {3}; }) != "");
  CHECK(after(csr(), [](Stored& s) { s.shape = {}; }) != "");
  CHECK(after(csr(), [](Stored& s) { s.shape = {-3, -4}; }) != "");
  CHECK(has(after(csr(), [](Stored& s) { s.shape = {3, Index{1} << 32}; }), "32-bit"));
  CHECK(after(csr(), [](Stored& s) { s.layout.set("dims", std::string("1.2")); }) != "");
}

TEST_CASE("a mask of the wrong size, with spare bits set or with a wrong value count is rejected") {
  const auto shorten = [](Stored& s) {
    part(s, "mask").shape = {1};
    part(s, "mask").bytes = bytes_from<std::uint8_t>({0xff});
  };
  const auto lengthen = [](Stored& s) {
    part(s, "mask").shape = {3};
    part(s, "mask").bytes = bytes_from<std::uint8_t>({0x65, 0x02, 0});
  };
  for (const Stored& good : {bitmask(), masked()}) {
    CAPTURE(good.layout.str());
    CHECK(has(after(good, shorten), "1 bytes does not fit 10"));
    CHECK(has(after(good, lengthen), "3 bytes does not fit 10"));
    CHECK(has(after(good, put<std::uint8_t>("mask", 1, 0x06)), "beyond element 9"));
    CHECK(has(after(good, [](Stored& s) { part(s, "mask").shape = {2, 1}; }), "one axis"));
    CHECK(has(after(good, [](Stored& s) { part(s, "mask").dtype = DType::BOOL; }), "BOOL"));
    CHECK(after(good, [](Stored& s) { s.shape = {2, 9}; }) != "");
  }
  CHECK(has(after(bitmask(), put<std::uint8_t>("mask", 0, 0x64)),
            "keeps 4 elements, but 5 values are stored"));
  CHECK(has(after(bitmask(), put<std::uint8_t>("mask", 0, 0x67)), "keeps 6 elements"));
}

TEST_CASE("masked rejects nonzero values, including -0.0, at masked-out positions") {
  CHECK(has(after(masked(), put<std::uint8_t>("mask", 0, 0x25)), "element 6 is masked out"));
  CHECK(has(after(masked(), put<float>("values", 1, 1e-45f)), "element 1 is masked out"));
  CHECK(has(after(masked(), put<float>("values", 9 - 1, -0.0f)), "element 8 is masked out"));
  CHECK(after(masked(), put<float>("values", 0, 0.0f)) == "");
}

TEST_CASE("nm rejects positions that are out of range, repeated or unordered") {
  // One row of 5 in blocks of 3, 2 bits each: 0 2 | 0 1.
  const auto pos = [](int a, int b, int c, int d) {
    return put<std::uint8_t>("pos", 0, static_cast<std::uint8_t>(a | b << 2 | c << 4 | d << 6));
  };
  CHECK(bytes_of(nm(), "pos") == std::vector<int>{0 | 2 << 2 | 0 << 4 | 1 << 6});
  CHECK(has(after(nm(), pos(0, 3, 0, 1)), "block 0: position 3 is out of range for m=3"));
  CHECK(has(after(nm(), pos(0, 2, 3, 3)), "block 1: position 3 is out of range for m=3"));
  CHECK(has(after(nm(), pos(1, 1, 0, 1)), "position 1 follows position 1"));
  CHECK(has(after(nm(), pos(2, 0, 0, 1)), "position 0 follows position 2"));
  CHECK(has(after(nm(), pos(0, 2, 2, 1)), "block 1"));
  CHECK(after(nm(), pos(0, 1, 0, 1)) == "");
}

TEST_CASE("nm rejects nonzero values in padding and nonzero spare position bits") {
  const auto in_padding = [](Stored& s) {  // block 1: column 4 at position 1, padding at 2
    put<std::uint8_t>("pos", 0, std::uint8_t{0 | 2 << 2 | 1 << 4 | 2 << 6})(s);
    put<float>("values", 2, 3)(s);
    put<float>("values", 3, 0)(s);
  };
  CHECK(after(nm(), in_padding) == "");
  CHECK(has(after(nm(),
                  [&](Stored& s) {
                    in_padding(s);
                    put<float>("values", 3, -0.0f)(s);
                  }),
            "position 2 is padding but not 0"));
  const Stored spare = packed(Dense::of({2, 4}, {1, 2, 0, 0, 1, 2, 0, 0}), "nm:n=2,m=4").save();
  CHECK(has(after(spare, put<std::uint8_t>("pos", 1, 0x14)), "row 1: spare position bits"));
}

TEST_CASE("n:m:g rejects columns that are out of range or repeated in a chunk") {
  // Two row blocks, two chunks of two columns: 0 1 | 0 1 | 0 1 | 0 1.
  CHECK(held(48, has(after(nmg(), put<std::uint8_t>("index", 1, 2)),
                     "index 2 is out of range for 2 strips")));
  CHECK(has(after(nmg(), put<std::uint8_t>("index", 7, 255)), "index 255 is out of range for 2"));
  CHECK(has(after(nmg(), put<std::uint8_t>("index", 5, 0)), "chunk 2: strip 0 occurs twice"));
  const Stored wide = packed(Dense::zeros(DType::F32, {4, 260}), "nmg:n=1,m=4,g=65").save();
  CHECK(has(after(wide, put<std::uint16_t>("index", 0, 260)), "index 260 is out of range for 260"));
  CHECK(has(after(wide, put<std::uint16_t>("index", 0, 65535)),
            "index 65535 is out of range for 260"));
  CHECK(has(after(wide, put<std::uint16_t>("index", 0, 259)), "strip 259 occurs twice"));
}

TEST_CASE("n:m:g rejects nonzero values in padded rows and columns") {
  // values: 1 2 | 5 0 | 3 0 | 0 0; slot 3 is column 3, slot 5 is row 3.
  CHECK(has(after(nmg(), put<float>("values", 3, 1)), "rows 0 to 1, columns 2 to 2"));
  CHECK(has(after(nmg(), put<float>("values", 5, -0.0f)), "rows 2 to 2, columns 0 to 1"));
  CHECK(has(after(nmg(), put<float>("values", 7, NAN)), "not 0"));
  CHECK(after(nmg(), put<float>("values", 6, 9)) == "");  // row 2, column 2: inside
}

TEST_CASE("n:m:g rejects parts that contradict the parameters or the shape") {
  const auto with = [](const char* spec) {
    return after(nmg(), [&](Stored& s) { s.layout = Spec::parse(spec); });
  };
  CHECK(with("nmg:n=1,m=2,g=1") == "");
  for (const char* wrong :
       {"nmg:n=1,m=2,g=2", "nmg:n=2,m=2,g=1", "nmg:n=1,m=3,g=1", "nmg:n=2,m=1,g=1",
        "nmg:n=0,m=2,g=1", "nmg:n=1,m=0,g=1", "nmg:n=1,m=2,g=0", "nmg:n=40,m=80,g=1",
        "nmg:n=1,m=2,g=1,axis=7", "nmg:n=1,m=2,g=1,dims=1.2", "nmg:n=1,m=2", "nmg:n=1,m=2,g=1,k=3",
        "nmg:n=1,m=4294967296,g=4294967296", "nmg:n=65536,m=65536,g=1", "nmg:n=x,m=2,g=1"}) {
    CAPTURE(wrong);
    CHECK(with(wrong) != "");
  }
  const auto shaped = [](Shape shape) { return after(nmg(), [&](Stored& s) { s.shape = shape; }); };
  CHECK(shaped({4, 4}) == "");  // padding becomes an element
  for (const Shape& wrong : {Shape{5, 3}, Shape{3, 5}, Shape{2, 3}, Shape{9}, Shape{}, Shape{0, 3},
                             Shape{-3, 3}, Shape{Index{1} << 40, Index{1} << 40}})
    if (shaped(wrong) == "") FAIL_CHECK("a shape of " << to_string(wrong) << " is taken");
  CHECK(has(after(nmg(),
                  [](Stored& s) {
                    part(s, "index").dtype = DType::U16;
                    part(s, "index").bytes = Array<std::byte>(16);
                  }),
            "U16"));
  CHECK(has(after(nmg(), [](Stored& s) { part(s, "index").dtype = DType::I8; }), "I8"));
}
