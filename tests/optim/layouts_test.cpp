// SPDX-License-Identifier: Apache-2.0
// Optimizer steps on weights in every layout, compared with a loop over dense doubles.
#include <doctest/doctest.h>

#include "libsten/core/layout/nm.h"
#include "libsten/core/layout/nmg.h"
#include "libsten/core/registry/structure.h"
#include "tests/optim/reference.h"
#include "tests/support/laws.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Addresses of all parts except the values.
std::vector<const void*> positions(const Tensor& t) {
  std::vector<const void*> at;
  for (const Part& p : t.save().parts)
    if (p.bytes.data() != t.values()->bytes().data()) at.push_back(p.bytes.data());
  return at;
}

struct Case {
  Spec spec;
  Tensor weight;
};

// Random weights of the shape in every layout that has values, the positions random too.
std::vector<Case> weights(Dice& dice, DType dtype, const Shape& shape) {
  std::vector<Case> all;
  for (const auto& entry : registry().layouts()) {
    const Spec spec = vary_layout(dice, entry.spec, shape);
    const Dense x = random_reals(dice, dtype, shape);
    Mask mask = random_mask(dice, shape, 0.4);
    if (const auto own = chooser_for(spec)) mask = own->select(x);
    if (entry.name == "dense") mask = Mask::all(shape);
    if (too_uneven(spec, mask)) continue;
    std::optional<Tensor> t;
    // A layout of the tests that cannot hold these positions has tests of its own.
    if (!error_of([&] { t = registry().pack(x, mask, spec); }).empty()) continue;
    if (t->values()) all.push_back({spec, *t});
  }
  return all;
}

// Four steps with all kinds of gradients equal the reference at the weight's positions; other
// elements and the positions do not change.
template <class O>
void check_steps(Dice& dice, const O& optimizer, const Case& c) {
  Parameter p("w", c.weight);
  const Mask stored = slot_mask(c.weight);
  const auto where = positions(c.weight);
  const Stored before = c.weight.save();
  Reference want(c.weight.to_dense());
  for (int step = 0; step < 4; ++step) {
    const Dense g = random_reals(dice, c.weight.dtype(), c.weight.shape());
    want.step(optimizer.options, g, &stored);
    if (step % 2 == 0)
      optimizer.step(p, native_gradient(c.weight, g));
    else if (step == 1)
      optimizer.step(p, g);
    else
      optimizer.step(p, registry().pack(g, Mask::all(g.extents), Spec("masked")));
  }
  CHECK(want.far_from(p.value.to_dense()) == "");
  const Dense after = p.value.to_dense();
  CHECK(same_bits(after, masked_by(after, stored)));
  CHECK(positions(p.value) == where);
  // Valid, padding included.
  Stored saved = p.value.save();
  CHECK(same_bits(registry().load(saved).to_dense(), after));
  for (std::size_t i = 0; i < saved.parts.size(); ++i)
    if (saved.parts[i].name == "values") saved.parts[i] = before.parts[i];
  CHECK(same_parts(saved, before));
}

}  // namespace

TEST_CASE(
    "slot offsets map stored values to their elements, and padding and pruned values to none") {
  Dice dice(1);
  for (const Shape& shape : std::vector<Shape>{{8, 16}, {13, 40}, {1, 7}, {3, 5, 9}, {0, 4}})
    for (const Case& c : weights(dice, DType::F32, shape)) {
      CAPTURE(c.spec.str());
      CAPTURE(to_string(shape));
      const SlotOffsets& at = *slot_offsets(c.weight);
      const Dense x = c.weight.to_dense();
      const auto v = c.weight.values()->as<float>();
      REQUIRE(at.size() == v.size());
      Mask seen = Mask::none(shape);
      for (std::size_t slot = 0; slot < at.size(); ++slot) {
        if (at[slot] < 0) {
          CHECK(v[slot] == 0);
          continue;
        }
        CHECK(!seen[at[slot]]);
        seen.set(at[slot], true);
        CHECK(x.values.as<float>()[at[slot]] == v[slot]);
      }
      const Mask had = c.weight.stored();
      for (Index i = 0; i < had.size(); ++i)
        if (had[i]) CHECK(seen[i]);
      if (c.weight.is<Nm>()) CHECK(at == c.weight.as<Nm>().offsets());
      if (c.weight.is<Nmg>()) CHECK(at == c.weight.as<Nmg>().offsets());
    }
}

TEST_CASE("an optimizer step on any layout matches the dense reference and changes no position") {
  Dice dice(2);
  int tried = 0;
  for (const DType dtype : {DType::F32, DType::F64})
    for (const Shape& shape : std::vector<Shape>{{8, 16}, {13, 40}, {1, 7}, {3, 5, 9}, {0, 4}})
      for (const Case& c : weights(dice, dtype, shape)) {
        CAPTURE(c.spec.str());
        CAPTURE(to_string(shape));
        ++tried;
        check_steps(dice, Sgd({.rate = 0.1}), c);
        check_steps(dice, Sgd({.rate = 0.1, .momentum = 0.9, .weight_decay = 0.1}), c);
        check_steps(dice, Sgd({.rate = 0.1, .momentum = 0.7, .nesterov = true}), c);
        check_steps(dice, AdamW({.rate = 0.1, .weight_decay = 0.1}), c);
        // A decay that turns the sign leaves no -0 in padding.
        check_steps(dice, AdamW({.rate = 2, .beta1 = 0, .weight_decay = 0.8}), c);
      }
  CHECK(tried >= 2 * 5 * 8);
}

TEST_CASE("a masked-out weight stays 0, even if its gradient is NaN or infinite") {
  const float inf = INFINITY;
  for (const Index n : {3, 8, 19}) {
    Dense w = Dense::zeros(DType::F32, {n}), g = w;
    Mask keep = Mask::none({n});
    for (Index i = 0; i < n; ++i) {
      keep.set(i, i % 3 == 0);
      w.values.mutate<float>()[i] = i % 3 == 0 ? 1 : 0;
      g.values.mutate<float>()[i] = i % 3 == 0 ? 0.5F : i % 3 == 1 ? NAN : -inf;
    }
    Parameter p(registry().pack(w, keep, Spec("masked")));
    Parameter q = p;
    for (int i = 0; i < 3; ++i) {
      Sgd({.rate = 1, .momentum = 0.5}).step(p, g);
      AdamW({.rate = 0.5, .weight_decay = 0}).step(q, g);
    }
    for (Index i = 0; i < n; ++i) {
      CHECK(floats(p.value.to_dense())[i] == (i % 3 == 0 ? -1.125F : 0));
      CHECK(floats(q.value.to_dense())[i] == doctest::Approx(i % 3 == 0 ? -0.5 : 0));
      if (i % 3) CHECK(floats(p.state.at("momentum").to_dense())[i] == 0);
    }
  }
}

TEST_CASE("a step with a gradient of the weight's layout updates weight and state in place") {
  Dice dice(3);
  for (const Case& c : weights(dice, DType::F32, {16, 32})) {
    CAPTURE(c.spec.str());
    Parameter p(registry().load(c.weight.save()));
    const Tensor g = native_gradient(p.value, random_reals(dice, DType::F32, {16, 32}));
    AdamW().step(p, g);
    const auto memory = [&] {
      std::vector<const void*> at;
      for (const Part& part : p.value.save().parts) at.push_back(part.bytes.data());
      for (const auto& name : {"m", "v"})
        at.push_back(p.state.at(name).save().parts[0].bytes.data());
      return at;
    };
    const auto was = memory();
    AdamW().step(p, g);
    CHECK(memory() == was);
  }
}

TEST_CASE("AdamW steps are bit-identical on 1 and 4 threads") {
  Dice dice(4);
  const Shape shape{257, 400};
  const Dense w = random_reals(dice, DType::F32, shape), g = random_reals(dice, DType::F32, shape);
  for (const char* spec : {"dense", "masked", "csr", "nmg:n=2,m=4,g=2", "nmgv:n=1,m=4,g=2,v=16"}) {
    CAPTURE(std::string(spec));
    const Spec layout = Spec::parse(spec);
    const Tensor start = is_structure(layout) ? registry().prune(w, layout, layout)
                                              : registry().pack(w, Mask::all(shape), layout);
    const auto run = [&](int threads) {
      const Threads some(threads);
      Parameter p(start);
      for (int i = 0; i < 3; ++i) AdamW().step(p, g);
      return p;
    };
    const Parameter one = run(1), four = run(4);
    CHECK(same_bits(one.value.to_dense(), four.value.to_dense()));
    CHECK(same_bits(one.state.at("v").to_dense(), four.state.at("v").to_dense()));
  }
}
