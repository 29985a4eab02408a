// SPDX-License-Identifier: Apache-2.0
// The paper's integration of n:m:g (Ivanov et al. 2023, section 5.3) as a user writes it in sten.
// Like the paper, the listings call the optimized conversions and products of the library.
// tests/extend/document.sh compares the lines of each listing with docs/extending.md.
#include "libsten/core/layout/masked.h"
#include "libsten/core/registry/extension.h"
#include "libsten/core/sparsify/nmg_fit.h"
#include "libsten/core/sparsify/same_pattern.h"
#include "libsten/core/sparsify/streaming.h"
#include "libsten/training/optim/adamw.h"
#include "libsten/training/optim/sgd.h"
#include "tests/extend/paper.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Listing: class GroupedNMTensor
struct GroupedNMTensor {
  static constexpr const char* name = "grouped-n-m";
  static constexpr const char* own_sparsifier = "grouped-n-m";
  static constexpr bool has_fillers = true;
  Nmg data;  // val, idx and the strides
  static void parts(auto& self, auto&& f) { Nmg::parts(self.data, f); }
  const Shape& shape() const { return data.shape(); }
  static GroupedNMTensor pack(const Dense& x, const Mask& keep, const Spec& spec) {
    return {Nmg::pack(x, keep, spec)};
  }
  Dense to_dense() const { return data.to_dense(); }
  Mask stored() const { return data.stored(); }
  double padding() const { return data.padding(); }
  void loaded() const { data.loaded(); }
};
const bool has_grouped_n_m = add_layout<GroupedNMTensor>("grouped-n-m:n=1,m=4,g=2");

// Listing: FixedMaskTensor
struct FixedMaskTensor {
  static constexpr const char* name = "fixed-mask";
  Shape extents;
  Values val;
  Array<std::uint8_t> mask;
  static void parts(auto& self, auto&& f) {
    f("shape", self.extents), f("val", self.val, self.extents), f("mask", self.mask);
  }
  const Shape& shape() const { return extents; }
  static FixedMaskTensor pack(const Dense& x, const Mask& keep, const Spec&) {
    return {x.extents, Dense::pack(x, keep).values, keep.bits};
  }
  Dense to_dense() const { return {extents, val}; }
  Mask stored() const { return {extents, mask}; }
  void loaded() const { Masked{extents, val, mask}.loaded(); }
};
const bool has_fixed_mask = add_layout<FixedMaskTensor>("fixed-mask");

// Listing: class GroupedNMSparsifier
struct GroupedNMSparsifier {
  static constexpr const char* name = "grouped-n-m";
  NmgFit fit;  // n, m, g
  static GroupedNMSparsifier make(const Spec& spec) { return {NmgFit::make(spec)}; }
  Mask select(const Dense& x, const Hints& hints) const { return fit.select(x, hints); }
};
const bool has_sparsifier = add_sparsifier<GroupedNMSparsifier>("grouped-n-m:n=1,m=4,g=2");
FixedMaskTensor dense_to_grouped_n_m(const GroupedNMSparsifier& s, const Dense& x,
                                     const SparsifyCall& call) {
  return FixedMaskTensor::pack(x, s.select(x, call.hints), call.layout);
}
const bool has_dense_to_grouped_n_m =
    add_sparsifier_implementation<GroupedNMSparsifier, Dense, FixedMaskTensor>(
        dense_to_grouped_n_m);
FixedMaskTensor same_format(const SamePattern& s, const Dense& x, const SparsifyCall& call) {
  return FixedMaskTensor::pack(x, s.select(x, call.hints), call.layout);
}
const bool has_same_format =
    add_sparsifier_implementation<SamePattern, Dense, FixedMaskTensor>(same_format);

// Listing: linear, forward and backward
Outputs linear_forward(const Call& call) {
  return {linear(call.in[0], Tensor(call.in[1].to_dense()), call.in[2])};
}
const bool has_forward =
    add_operator({"linear", {"dense", "fixed-mask", "dense"}, {{}}}, linear_forward);
Outputs linear_backward(const Call& call) {
  const Tensor &dy = call.in[0], &x = call.in[1], &w = call.in[2];
  const Tensor in[] = {dy, x, w.to_dense(), call.in[3]};
  const OutFormat *dense = &OutFormat::dense(), *formats[] = {dense, dense, dense};
  Outputs grads = run("linear.grad", {in, formats, call.attributes, call.shapes});
  grads[1] = FixedMaskTensor::pack(grads[1]->to_dense(), w.stored(), call.out(1).tmp);
  return grads;
}
const bool has_backward = add_operator({"linear.grad",
                                        {"dense", "dense", "fixed-mask", "dense"},
                                        {{}, {"keep-all", "fixed-mask"}, {}}},
                                       linear_backward);

// The loss of a regression by one linear layer after each step of an optimizer, and the weight.
struct Trained {
  std::vector<float> losses;
  Parameter w, b;
};
template <class O>
Trained trained(const O& optimizer, const Tensor& weight, const OutFormat& gradient,
                const Update& update = {}) {
  Dice dice(2);
  const Tensor x = normals(dice, {64, 24}), target = normals(dice, {64, 16});
  Trained t{{}, Parameter("w", weight), Parameter("b", Dense::zeros(DType::F32, {16}))};
  for (int step = 0; step < 12; ++step) {
    Tape tape;
    const Var w = tape.parameter(t.w.value, gradient), b = tape.parameter(t.b.value);
    const Var loss = mse(linear(Var(x), w, b), Var(target));
    tape.backward(loss);
    optimizer.step(t.w, *w.grad(), update);
    optimizer.step(t.b, *b.grad());
    t.losses.push_back(loss.value().values()->template as<float>()[0]);
  }
  return t;
}

}  // namespace

TEST_CASE("a user-defined n:m:g layout and sparsifier give the values of the built-in ones") {
  Dice dice(1);
  const Dense x = normals(dice, {16, 24});
  const StrictWatch watch;
  const Tensor t =
      sparsify(x, by("grouped-n-m:n=1,m=4,g=2"), Spec::parse("grouped-n-m:n=1,m=4,g=2"));
  const Tensor builtin = sparsify(x, by("nmg:n=1,m=4,g=2"), Spec::parse("nmg:n=1,m=4,g=2"));
  CHECK(t.spec().str() == "grouped-n-m:n=1,m=4,g=2");
  CHECK(t.values() == nullptr);
  CHECK(same_bits(t.to_dense(), builtin.to_dense()));
  CHECK(same_parts(registry().load(t.save()).save(), t.save()));
  const Tensor masked = sparsify(x, by("grouped-n-m:n=1,m=4,g=2"), Spec("fixed-mask"));
  CHECK(masked.layout() == "fixed-mask");
  CHECK(same_bits(masked.to_dense(), builtin.to_dense()));
}

TEST_CASE(
    "a user-defined masked layout with a same-pattern implementation trains exactly like masked") {
  Dice dice(1);
  const Dense x = normals(dice, {16, 24});
  const Sparsifier nmg = by("grouped-n-m:n=1,m=4,g=2");
  const Tensor mine = sparsify(x, nmg, Spec("fixed-mask")),
               builtin = packed(x, nmg.select(x), "masked");
  const auto check = [&](const auto& optimizer) {
    const StrictWatch watch;
    const Trained own = trained(optimizer, mine, OutFormat::fused(KeepAll{}, Spec("fixed-mask")));
    CHECK(watch.plans.at(0) == "linear(dense, fixed-mask, dense) -> keep-all/dense: exact");
    const Trained reference =
        trained(optimizer, builtin, OutFormat::fused(SamePattern{}, Spec("masked")));
    CHECK(own.losses == reference.losses);
    CHECK(own.losses.back() < 0.9 * own.losses.front());
    CHECK(own.w.value.layout() == "fixed-mask");
    CHECK(same_mask(own.w.value.stored(), mine.stored()));
    CHECK(same_bits(own.w.value.to_dense(), reference.w.value.to_dense()));
    CHECK(own.w.state.size() == reference.w.state.size());
    for (const auto& [name, s] : own.w.state)
      CHECK(same_bits(s.to_dense(), reference.w.state.find(name)->second.to_dense()));
  };
  check(Sgd({.rate = 0.3}));
  check(Sgd({.rate = 0.1, .momentum = 0.9, .weight_decay = 0.01}));
  check(AdamW({.rate = 0.05}));
}

TEST_CASE("resparsifying a user-defined masked layout selects the same positions as masked") {
  Dice dice(3);
  const Dense x = normals(dice, {16, 24});
  const Sparsifier nmg = by("grouped-n-m:n=1,m=4,g=2");
  const Tensor mine = sparsify(x, nmg, Spec("fixed-mask")),
               builtin = packed(x, nmg.select(x), "masked");
  const AdamW adam({.rate = 0.5});
  const OutFormat dense = OutFormat::dense();
  const Watch watch;
  const Trained own = trained(adam, mine, dense, Update::resparsify(nmg)),
                reference = trained(adam, builtin, dense, Update::resparsify(nmg));
  CHECK(!same_mask(own.w.value.stored(), mine.stored()));
  CHECK(same_mask(own.w.value.stored(), reference.w.value.stored()));
  CHECK(same_bits(own.w.value.to_dense(), reference.w.value.to_dense()));
}

TEST_CASE(
    "without a same-pattern implementation, an optimizer step packs a dense update and warns") {
  Dice dice(4);
  const Dense x = normals(dice, {16, 24}), g = normals(dice, {16, 24});
  const Spec spec = Spec::parse("grouped-n-m:n=1,m=4,g=2");
  const Sparsifier nmg = by("grouped-n-m:n=1,m=4,g=2");
  Parameter p("w", sparsify(x, nmg, spec)), masked("w", packed(x, nmg.select(x), "masked"));
  const Mask before = p.value.stored();
  const AdamW adam({.rate = 0.05});
  const std::string text =
      "adamw: grouped-n-m has no field `values` and no same-pattern implementation; dense update, "
      "then packed from its mask";
  {
    const Watch watch;
    for (int step = 0; step < 3; ++step) {
      adam.step(p, g);
      adam.step(masked, g);
    }
    CHECK(watch.warnings == std::vector<std::string>{text});
  }
  CHECK(p.value.spec() == spec);
  CHECK(same_mask(p.value.stored(), before));
  CHECK(same_bits(p.value.to_dense(), masked.value.to_dense()));
  const StrictWatch strict;
  CHECK(error_of([&] { adam.step(p, g); }) == "strict: " + text);
  CHECK(same_bits(p.value.to_dense(), masked.value.to_dense()));
}
