// SPDX-License-Identifier: Apache-2.0
// Laws of every registered layout.
#include <doctest/doctest.h>

#include "tests/support/laws.h"

using namespace sten;
using namespace sten::testing;

namespace {

const int rounds = shapes_to_try(220);

bool subset(const Mask& a, const Mask& b) {
  for (std::size_t i = 0; i < a.bits.size(); ++i)
    if (a.bits[i] & ~b.bits[i]) return false;
  return a.extents == b.extents;
}

}  // namespace

TEST_CASE("every layout packs and reloads tensors bit for bit, or rejects the mask") {
  Dice dice(1);
  for (const auto& entry : registry().layouts()) {
    CAPTURE(entry.name);
    int packed_any = 0;
    for (int round = 0; round < rounds; ++round) {
      const Shape shape = random_shape(dice);
      const Spec spec = vary_layout(dice, entry.spec, shape);
      const DType dtype = movable_dtypes()[round % movable_dtypes().size()];
      const Dense x = any_bits(dice, dtype, shape);
      const auto own = own_mask(dice, spec, shape);
      std::vector<Mask> masks{Mask::all(shape), Mask::none(shape), nonzero_mask(x),
                              random_mask(dice, shape, dice.uniform())};
      if (own) masks.push_back(*own);
      for (std::size_t i = 0; i < masks.size(); ++i) {
        const Mask& m = masks[i];
        std::optional<Tensor> t;
        try {
          t = registry().pack(x, m, spec);
        } catch (const Error& e) {
          // A layout without an own sparsifier holds any mask; the others hold the masks of their
          // own sparsifiers.
          if (too_uneven(spec, m)) continue;
          if (!own || i == 4 || m.count() == 0)
            FAIL_CHECK(spec.str() << " of " << to_string(shape) << ", mask " << i << ": "
                                  << e.what());
          continue;
        }
        ++packed_any;
        if (too_uneven(spec, m)) FAIL_CHECK(spec.str() << " holds a mask that is too uneven");
        const std::string where =
            fmt::format("{} {} {}, mask {}", spec.str(), name_of(dtype), to_string(shape), i);
        if (t->layout() != entry.name || t->shape() != shape)
          FAIL_CHECK(where << ": another tensor");
        if (!same_bits(t->to_dense(), masked_by(x, m))) FAIL_CHECK(where << ": other elements");
        if (entry.name != "dense" && !subset(m, t->stored()))
          FAIL_CHECK(where << ": a position is lost");
        if (!(t->padding() >= 0)) FAIL_CHECK(where << ": padding " << t->padding());

        const Stored saved = t->save();
        if (saved.shape != shape || saved.dtype != dtype) FAIL_CHECK(where << ": saved as another");
        std::size_t bytes = 0;
        for (const Part& p : saved.parts) bytes += p.bytes.size();
        if (bytes != t->bytes()) FAIL_CHECK(where << ": " << t->bytes() << " bytes");
        const Tensor loaded = registry().load(saved);
        if (!same_parts(loaded.save(), saved)) FAIL_CHECK(where << ": other parts once loaded");
        if (!same_bits(loaded.to_dense(), t->to_dense()))
          FAIL_CHECK(where << ": loaded as another");
        if (!same_mask(loaded.stored(), t->stored())) FAIL_CHECK(where << ": other positions");
      }
    }
    CHECK(packed_any >= 2 * rounds);
  }
}

TEST_CASE("packing with the saved spec of a layout reproduces its parts") {
  Dice dice(2);
  for (const auto& entry : registry().layouts()) {
    CAPTURE(entry.name);
    for (int round = 0; round < 40; ++round) {
      const Shape shape = random_shape(dice);
      const Spec spec = vary_layout(dice, entry.spec, shape);
      const Dense x = any_bits(dice, DType::F32, shape);
      const Mask m = own_mask(dice, spec, shape).value_or(random_mask(dice, shape, 0.5));
      const Stored saved = registry().pack(x, m, spec).save();
      const Stored again = registry().pack(x, m, saved.layout).save();
      if (!same_parts(saved, again))
        FAIL_CHECK(spec.str() << " is saved as " << saved.layout.str());
    }
  }
}

TEST_CASE("conversion between any two layouts is lossless, or rejected where packing is rejected") {
  Dice dice(3);
  const auto layouts = registry().layouts();
  for (const auto& from : layouts)
    for (const auto& to : layouts) {
      CAPTURE(from.name);
      CAPTURE(to.name);
      int converted = 0;
      for (int round = 0; round < shapes_to_try(24); ++round) {
        const Shape shape = random_shape(dice);
        const Spec a = round % 2 ? from.spec : vary_layout(dice, from.spec, shape);
        // Half of the time with the same rows and columns, as edges require.
        Spec b = from.name == to.name && round % 3 ? a : to.spec;
        if (a.has("dims") && dice.below(2) && registry().has_key(to.name, "dims"))
          b.set("dims", std::string(a.word("dims", "")));
        const DType dtype = movable_dtypes()[round % movable_dtypes().size()];
        const Dense x = any_bits(dice, dtype, shape);
        // A mask that one of the two layouts can hold, with random elements removed.
        Mask m = random_mask(dice, shape, 0.7);
        const auto own = own_mask(dice, round % 4 < 2 ? a : b, shape);
        if (own)
          for (Index i = 0; i < m.size(); ++i) m.set(i, m[i] && (*own)[i]);
        std::optional<Tensor> t, packed, u;
        Route route;
        error_of([&] { t = registry().pack(x, m, a); });
        if (!t) continue;  // another law covers these cases
        const Dense dense = t->to_dense();
        const Mask stored = t->stored();
        // The result without edges: pack from dense.
        const std::string refused = error_of([&] { packed = registry().pack(dense, stored, b); });
        const std::string failed = error_of([&] { u = convert(*t, b, &route); });
        const std::string where = fmt::format("{} to {} ({}) of {} {}", a.str(), b.str(),
                                              route.str(), name_of(dtype), to_string(shape));
        if (!u || !packed) {
          if (u || packed) FAIL_CHECK(where << ": " << failed << refused);
          continue;
        }
        ++converted;
        if (!same_bits(u->to_dense(), dense)) FAIL_CHECK(where << ": other elements");
        if (to.name != "dense" && !subset(stored, u->stored()))
          FAIL_CHECK(where << ": a position is lost");
        if (to.name != "dense" && !u->has_fillers() && !subset(u->stored(), stored))
          FAIL_CHECK(where << ": a position is stored that was not");
        if (route.layouts.size() > 1 && !same_parts(u->save(), packed->save()))
          FAIL_CHECK(where << ": other parts than through dense");
        if (a == b && !same_mask(u->stored(), stored)) FAIL_CHECK(where << ": other positions");
      }
      CHECK(converted > 0);
    }
}

TEST_CASE(
    "every layout packs, loads and unpacks large tensors bit-identically on 1 and 3 threads") {
  Dice dice(4);
  for (const auto& entry : registry().layouts()) {
    CAPTURE(entry.name);
    for (const Shape& shape : {Shape{403, 511}, Shape{7, 3, 11003}, Shape{70001, 3}}) {
      const Dense x = any_bits(dice, DType::BF16, shape);
      const Threads one(1);
      const Mask m = own_mask(dice, entry.spec, shape).value_or(random_mask(dice, shape, 0.5));
      const Tensor alone = registry().pack(x, m, entry.spec);
      const Dense dense = alone.to_dense();
      CHECK(same_bits(dense, masked_by(x, m)));
      const Threads three(3);
      const Tensor t = registry().load(registry().pack(x, m, entry.spec).save());
      CHECK(same_parts(t.save(), alone.save()));
      CHECK(same_bits(t.to_dense(), dense));
      CHECK(same_mask(t.stored(), alone.stored()));
    }
  }
}
