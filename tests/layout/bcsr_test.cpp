// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/bcsr.h"

#include <doctest/doctest.h>

#include "libsten/core/registry/route.h"
#include "tests/support/laws.h"

using namespace sten;
using namespace sten::testing;

namespace {

using I32 = std::int32_t;
using I64 = std::int64_t;

template <class T>
auto replace(const char* name, std::vector<T> values) {
  return [=](Stored& s) {
    part(s, name).shape = {std::ssize(values)};
    part(s, name).bytes = bytes_from(values);
  };
}

// 1 2 | 0 0 | 0
// 3 4 | 0 0 | 5
// ----+-----+--
// 0 0 | 6 7 | 0
Dense five_wide() { return Dense::of({3, 5}, {1, 2, 0, 0, 0, 3, 4, 0, 0, 5, 0, 0, 6, 7, 0}); }
Stored sparse_blocks() { return packed(five_wide(), "bcsr:h=2,w=2").save(); }
// sparse_blocks() with the zero above the 5 kept: no stored block holds a pruned position.
Stored full() {
  return packed(five_wide(), mask_of({3, 5}, {1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 0}),
                "bcsr:h=2,w=2")
      .save();
}

Spec random_blocks(Dice& dice) {
  return Spec("bcsr").set("h", 1 + dice.below(6)).set("w", 1 + dice.below(6));
}

}  // namespace

TEST_CASE("bcsr stores blocks with kept elements in row order, padded with zeros") {
  const Stored s = sparse_blocks();
  CHECK(s.layout.str() == "bcsr:h=2,w=2");
  CHECK(numbers<I64>(s, "ptr") == std::vector<I64>{0, 2, 3});
  CHECK(numbers<I32>(s, "col") == std::vector<I32>{0, 2, 1});
  CHECK(numbers<float>(s, "values") == std::vector<float>{1, 2, 3, 4, 0, 0, 5, 0, 6, 7, 0, 0});
  CHECK(s.parts[2].shape == Shape{3, 2, 2});
  CHECK(bytes_of(s, "mask") == std::vector<int>{0b01001111, 0b0011});
}

TEST_CASE("bcsr stores a mask only if a stored block contains pruned positions") {
  const auto names = [](const Stored& s) {
    std::vector<std::string> v;
    for (const Part& p : s.parts) v.push_back(p.name);
    return v;
  };
  CHECK(names(sparse_blocks()) == std::vector<std::string>{"ptr", "col", "values", "mask"});
  // A kept zero is a stored position; elements outside of the tensor are not pruned ones.
  CHECK(names(full()) == std::vector<std::string>{"ptr", "col", "values"});
  CHECK(registry().load(full()).stored().count() == 8);
  CHECK(names(packed(Dense::zeros(DType::F32, {4, 4}), "bcsr:h=2,w=2").save()).size() == 3);
}

TEST_CASE("bcsr round trip preserves the stored positions and is bit-identical in every dtype") {
  Dice dice(1);
  for (int round = 0; round < 300; ++round) {
    const Shape shape = random_shape(dice);
    const DType dtype = movable_dtypes()[round % movable_dtypes().size()];
    const Dense x = any_bits(dice, dtype, shape);
    const Mask m = random_mask(dice, shape, dice.one_of<double>({0, 0.02, 0.3, 1}));
    const Spec spec = vary_layout(dice, random_blocks(dice), shape);
    const Tensor t = registry().load(registry().pack(x, m, spec).save());
    if (!same_bits(t.to_dense(), masked_by(x, m)) || !same_mask(t.stored(), m))
      FAIL_CHECK(spec.str() << " of " << name_of(dtype) << " " << to_string(shape));
  }
}

TEST_CASE("bcsr padding is the ratio of stored elements outside the tensor to those inside") {
  const auto padding = [](Shape shape, const char* spec) {
    const Dense x = Dense::zeros(DType::F32, shape);
    return registry().pack(x, Mask::all(shape), Spec::parse(spec)).padding();
  };
  CHECK(padding({4, 8}, "bcsr:h=4,w=4") == 0);
  CHECK(padding({3, 5}, "bcsr:h=2,w=2") == doctest::Approx(24.0 / 15 - 1));
  CHECK(padding({1, 1}, "bcsr:h=4,w=4") == 15);
  CHECK(registry().load(sparse_blocks()).padding() == doctest::Approx(12.0 / 8 - 1));
  CHECK(padding({0, 5}, "bcsr:h=2,w=2") == 0);
}

TEST_CASE("conversion between csr and bcsr gives the same parts as packing") {
  Dice dice(2);
  for (int round = 0; round < 300; ++round) {
    const Shape shape = random_shape(dice);
    const DType dtype = movable_dtypes()[round % movable_dtypes().size()];
    const Dense x = any_bits(dice, dtype, shape);
    const Mask m = random_mask(dice, shape, dice.one_of<double>({0, 0.02, 0.3, 1}));
    const Spec blocked = vary_layout(dice, random_blocks(dice), shape);
    Spec plain("csr");
    if (blocked.has("dims")) plain.set("dims", std::string(blocked.word("dims", "")));
    const Tensor csr = registry().pack(x, m, plain), bcsr = registry().pack(x, m, blocked);
    const std::string where = fmt::format("{} of {}", blocked.str(), to_string(shape));
    if (!same_parts(save(to_bcsr(csr.as<Csr>(), blocked)), bcsr.save()))
      FAIL_CHECK(where << ": from csr");
    if (!same_parts(save(to_csr(bcsr.as<Bcsr>())), csr.save())) FAIL_CHECK(where << ": to csr");
  }
}

TEST_CASE("csr whose dense form exceeds memory converts to bcsr and back") {
  Csr x{{1000, Index{1} << 31}, {}, Array<I64>(1001), {}, Values(DType::F64, 2)};
  x.extents[1] -= 1;
  x.index = Array<I32>{5, INT32_MAX - 1};
  std::fill_n(x.ptr.mutate() + 500, 501, 2);
  x.values.mutate<double>()[1] = 3;
  const Bcsr b = to_bcsr(x, Spec::parse("bcsr:h=16,w=16"));
  CHECK(b.col.size() == 2);
  CHECK(b.col[1] == (INT32_MAX - 1) / 16);
  CHECK(same_parts(save(to_csr(b)), save(x)));
  const Tensor repacked = convert(x, Spec::parse("bcsr:h=16,w=16"));
  CHECK(same_parts(repacked.save(), save(b)));
  CHECK(same_parts(convert(convert(repacked, Spec("coo")), Spec("csr")).save(), save(x)));
}

TEST_CASE("conversion between csr and bcsr rejects other dims and columns beyond 32-bit indices") {
  const Tensor csr = packed(five_wide(), "csr");
  CHECK(fault_of([&] { to_bcsr(csr.as<Csr>(), Spec::parse("bcsr:h=2,w=2,dims=1.0")); }) ==
        Fault::usage);
  Bcsr wide{{1, Index{1} << 33}, 1, 8, {}, Array<I64>(2), {}, Values(DType::F32, 0), {}};
  CHECK(has(error_of([&] { to_csr(wide); }), "8589934592 columns do not fit"));
}

TEST_CASE("bcsr rejects blocks of 0 or more than 65536 elements") {
  const auto why = [](const char* spec) {
    return error_of([&] { registry().check_layout(Spec::parse(spec)); });
  };
  CHECK(why("bcsr:h=256,w=256") == "");
  CHECK(why("bcsr:h=65536,w=1") == "");
  CHECK(has(why("bcsr:h=257,w=256"), "at most 65536 elements"));
  CHECK(has(why("bcsr:h=4611686018427387904,w=4"), "at most 65536 elements"));
  CHECK(has(why("bcsr:h=0,w=4"), "expected h >= 1"));
  CHECK(has(why("bcsr:h=4,w=-4"), "expected h >= 1 and w >= 1"));
  CHECK(has(why("bcsr:h=4"), "missing 'w'"));
  CHECK(has(why("bcsr:h=4,w=4,dims=1.1"), "dims=1.1"));
}

TEST_CASE("uncorrupted bcsr test tensors load") {
  CHECK(error_of([&] { registry().load(sparse_blocks()); }) == "");
  CHECK(error_of([&] { registry().load(full()); }) == "");
}

TEST_CASE(
    "bcsr rejects pointers that do not start at 0, decrease, or do not end at the block count") {
  // 0 2 3
  CHECK(has(after(sparse_blocks(), put<I64>("ptr", 0, 1)), "start at 1, expected 0"));
  CHECK(has(after(sparse_blocks(), put<I64>("ptr", 1, 4)), "decrease at block row 1"));
  CHECK(has(after(sparse_blocks(), put<I64>("ptr", 1, INT64_MIN)), "decrease at block row 0"));
  CHECK(has(after(sparse_blocks(), put<I64>("ptr", 2, 2)), "end at 2, but 3 blocks are stored"));
  CHECK(has(after(sparse_blocks(), put<I64>("ptr", 2, INT64_MAX)), "end at 9223372036854775807"));
  CHECK(has(after(sparse_blocks(), replace<I64>("ptr", {0, 3})),
            "2 block-row pointers do not fit 2"));
  CHECK(has(after(sparse_blocks(), replace<I64>("ptr", {})), "0 block-row pointers"));
}

TEST_CASE("bcsr rejects block columns that are out of range, repeated or unordered") {
  // 0 2 | 1
  CHECK(has(after(sparse_blocks(), put<I32>("col", 1, 3)),
            "block row 0: block column 3 is out of range for 3 block columns"));
  CHECK(has(after(sparse_blocks(), put<I32>("col", 2, -1)),
            "block row 1: block column -1 is out of range for 3 block columns"));
  CHECK(has(after(sparse_blocks(), put<I32>("col", 0, INT32_MIN)),
            "block column -2147483648 is out of range for 3"));
  CHECK(
      has(after(sparse_blocks(), put<I32>("col", 1, 0)), "block column 0 follows block column 0"));
  CHECK(has(after(full(), put<I32>("col", 0, 2)), "block column 2 follows block column 2"));
}

TEST_CASE("bcsr rejects parts whose counts or shapes do not match") {
  CHECK(has(after(sparse_blocks(), replace<I32>("col", {0, 2})), "expected [2, 2, 2]"));
  const auto with = [](const char* spec) {
    return after(sparse_blocks(), [&](Stored& s) { s.layout = Spec::parse(spec); });
  };
  CHECK(has(with("bcsr:h=4,w=1"), "expected [3, 4, 1]"));
  CHECK(has(with("bcsr:h=0,w=2"), "expected h >= 1"));
  CHECK(has(with("bcsr:h=2,w=4294967296"), "at most 65536"));
  CHECK(has(with("bcsr:h=2,w=2,dims=1.2"), "beyond the axes"));
  const auto shaped = [](Shape shape) {
    return after(full(), [&](Stored& s) { s.shape = shape; });
  };
  CHECK(shaped({4, 6}) == "");  // padding becomes an element
  for (const Shape& wrong : {Shape{5, 5}, Shape{2, 5}, Shape{3, 4}, Shape{15}, Shape{}, Shape{0, 5},
                             Shape{3, 0}, Shape{-3, 5}, Shape{Index{1} << 40, Index{1} << 40}})
    if (shaped(wrong) == "") FAIL_CHECK("a shape of " << to_string(wrong) << " is taken");
  CHECK(has(shaped({3, Index{1} << 33}), "32-bit column indices"));
  // Blocks without elements, with a huge shape.
  Stored none = packed(Dense::zeros(DType::F32, {2, 2}), "bcsr:h=2,w=2").save();
  none.layout = Spec::parse("bcsr:h=65536,w=65536");
  part(none, "values").shape = {0, 65536, 65536};
  CHECK(has(error_of([&] { registry().load(none); }), "at most 65536"));
}

TEST_CASE("bcsr rejects a mask of the wrong size, dtype or name, or with bits set in padding") {
  CHECK(has(after(sparse_blocks(), replace<std::uint8_t>("mask", {0xff})),
            "1 bytes does not fit 12"));
  CHECK(has(after(sparse_blocks(), put<std::uint8_t>("mask", 1, 0x13)), "beyond element 11"));
  CHECK(has(after(sparse_blocks(), [](Stored& s) { part(s, "mask").shape = {2, 1}; }), "one axis"));
  CHECK(has(after(sparse_blocks(), [](Stored& s) { part(s, "mask").dtype = DType::I8; }), "I8"));
  CHECK(has(after(sparse_blocks(), put<std::uint8_t>("mask", 0, 0x6f)),
            "block 1: the mask keeps (0, 1), which is padding"));
  CHECK(has(after(sparse_blocks(), put<std::uint8_t>("mask", 1, 0x07)),
            "block 2: the mask keeps (1, 0), which is padding"));
  Stored misnamed = sparse_blocks();
  part(misnamed, "mask").name = "bits";
  CHECK(has(error_of([&] { registry().load(misnamed); }), "unknown part 'bits'"));
}

TEST_CASE("bcsr rejects nonzero values, including -0.0, at pruned and padding positions") {
  CHECK(
      has(after(sparse_blocks(), put<float>("values", 4, -0.0f)), "block 1: (0, 0) is masked out"));
  CHECK(has(after(sparse_blocks(), put<std::uint8_t>("mask", 0, 0x4e)),
            "block 0: (0, 0) is masked out"));
  for (const Stored& s : {sparse_blocks(), full()}) {
    CHECK(has(after(s, put<float>("values", 5, 1)), "block 1: (0, 1) is padding"));
    CHECK(has(after(s, put<float>("values", 10, -0.0f)), "block 2: (1, 0) is padding"));
  }
  CHECK(after(full(), put<float>("values", 4, NAN)) == "");
}
