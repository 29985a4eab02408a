// SPDX-License-Identifier: Apache-2.0
// The code examples of the paper on STen (Ivanov et al. 2023) in sten, in strict mode.
#include "libsten/compute/ops/elementwise/in_place.h"
#include "libsten/core/layout/compressed.h"
#include "libsten/core/registry/route.h"
#include "libsten/core/sparsify/same_pattern.h"
#include "libsten/core/sparsify/streaming.h"
#include "libsten/model/graph/sparsity_builder.h"
#include "libsten/model/nn/layers.h"
#include "libsten/training/optim/sgd.h"
#include "tests/extend/paper.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Section 3.1, `class CscTensor`: a layout with conversions to and from dense.
struct MyCsc {
  static constexpr const char* name = "my-csc";
  static constexpr bool holds_any_pattern = true;
  Shape extents;
  Array<std::int64_t> ptr;  // column c has the entries ptr[c] to ptr[c + 1]
  Array<std::int32_t> row;
  Values values;
  static void parts(auto& self, auto&& f) {
    f("shape", self.extents), f("ptr", self.ptr), f("row", self.row), f("values", self.values);
  }
  const Shape& shape() const { return extents; }
  Dense to_dense() const {
    Dense x = Dense::zeros(values.dtype(), extents);
    for (Index c = 0; c < extents[1]; ++c)
      for (Index k = ptr[c]; k < ptr[c + 1]; ++k) x.values.put(row[k] * extents[1] + c, values, k);
    return x;
  }
  static MyCsc pack(const Dense& x, const Mask& keep, const Spec&) {
    const Index rows = x.extents.at(0), cols = x.extents.at(1), nnz = keep.count();
    MyCsc m{x.extents, Array<std::int64_t>(cols + 1), Array<std::int32_t>(nnz), {x.dtype(), nnz}};
    for (Index c = 0, k = 0; c < cols; m.ptr.mutate()[++c] = k)
      for (Index r = 0; r < rows; ++r)
        if (keep[r * cols + c]) m.row.mutate()[k] = r, m.values.put(k++, x.values, r * cols + c);
    return m;
  }
  // Not in the paper: parts from files are checked, and kept zeros count as stored.
  Csc as_csc() const { return {extents, {}, ptr, row, values}; }
  void loaded() const { as_csc().loaded(); }
  Mask stored() const { return as_csc().stored(); }
};
const bool has_my_csc = add_layout<MyCsc>("my-csc");
Csr my_csc_to_csr(const MyCsc& x, const Spec&) { return to_csr(x.as_csc()); }
MyCsc csr_to_my_csc(const Csr& x, const Spec&) {
  const Csc c = to_csc(x);
  return {x.extents, c.ptr, c.index, c.values};
}
const bool has_edges = add_edge<MyCsc, Csr>(my_csc_to_csr) && add_edge<Csr, MyCsc>(csr_to_my_csc);

// Section 3.2: implementations for the layout, here those of the built-in CSC, which has the same
// parts.
Outputs as_built_in(Name op, const Call& call) {
  std::vector<Tensor> in(call.in.begin(), call.in.end());
  for (Tensor& t : in)
    if (t.is<MyCsc>()) t = t.as<MyCsc>().as_csc();
  // The formats of the signature; the dispatcher applies the rest of a format afterwards.
  std::vector<const OutFormat*> formats;
  for (const OutFormat* f : call.formats) formats.push_back(f ? &OutFormat::dense() : nullptr);
  return run(op, {in, formats, call.attributes, call.shapes});
}
const bool has_products =
    add_operator({"linear", {"dense", "my-csc"}, {{}}},
                 [](const Call& call) { return as_built_in("linear", call); }) &&
    add_operator({"matmul", {"my-csc", "dense"}, {{}}},
                 [](const Call& call) { return as_built_in("matmul", call); }) &&
    add_operator({"matmul.grad", {"dense", "my-csc", "dense"}, {{}, {}}},
                 [](const Call& call) { return as_built_in("matmul.grad", call); });

// Section 3.3, `class RandomFractionSparsifier`, and its implementation for dense to CSC.
struct Drop {
  static constexpr const char* name = "drop";
  double fraction = 0.5;
  bool keep(auto, Index i) const { return random_uniform(7, i) >= fraction; }
  static Drop make(const Spec& spec) { return {fraction_of(spec, "fraction")}; }
};
const bool has_drop = add_sparsifier<Drop>("drop:fraction=0.5");
int drops = 0, further_drops = 0;
MyCsc dense_to_my_csc_drop(const Drop& drop, const Dense& x, const SparsifyCall& call) {
  ++drops;
  Mask m = Mask::none(x.extents);
  for (Index i = 0; i < x.size(); ++i)
    if (drop.keep(0, i)) set_bit(m.bits.mutate(), i);
  return MyCsc::pack(x, m, call.layout);
}
const bool has_drop_to_my_csc =
    add_sparsifier_implementation<Drop, Dense, MyCsc>(dense_to_my_csc_drop);
// For a tensor that is CSC already, as the external sparsifier of a two-pass format finds it.
MyCsc my_csc_drop(const Drop& drop, const MyCsc& x, const SparsifyCall&) {
  ++further_drops;
  MyCsc m{x.extents, Array<std::int64_t>(x.ptr.size()), {}, {}};
  std::vector<Index> left;
  for (Index c = 0; c < x.extents[1]; m.ptr.mutate()[++c] = std::ssize(left))
    for (Index k = x.ptr[c]; k < x.ptr[c + 1]; ++k)
      if (drop.keep(0, x.row[k] * x.extents[1] + c)) left.push_back(k);
  m.row = Array<std::int32_t>(left.size());
  m.values = Values(x.values.dtype(), std::ssize(left));
  for (Index n = 0; n < std::ssize(left); ++n)
    m.row.mutate()[n] = x.row[left[n]], m.values.put(n, x.values, left[n]);
  return m;
}
const bool has_drop_of_my_csc = add_sparsifier_implementation<Drop, MyCsc, MyCsc>(my_csc_drop);

}  // namespace

TEST_CASE("a product with a tensor sparsified to csr is dispatched to the csr implementation") {
  // Section 3.1: x = sten.torch_tensor_to_csr(sparsifier, x)
  // Section 3.2: c = torch.mm(a, b)
  Dice dice(1);
  const StrictWatch watch;
  const Tensor a = sparsify(normals(dice, {4, 4}), by("magnitude:sparsity=0.5"), Spec("csr"));
  const Tensor b = normals(dice, {4, 4});
  const Tensor c = matmul(a, b);
  CHECK(a.layout() == "csr");
  CHECK(a.stored().count() == 8);
  CHECK(c.layout() == "dense");
  CHECK(watch.plans == std::vector<std::string>{"matmul(csr, dense) -> keep-all/dense: exact"});
}

TEST_CASE("a user-defined CSC layout is saved, loaded and converted like the built-in csc") {
  Dice dice(1);
  const Dense x = Dense::of({3, 4}, {1, 2, 0, 0, 3, 0, 4, 0, 0, 0, 0, 5});
  const Tensor t = packed(x, "my-csc");
  CHECK(numbers<std::int64_t>(t.save(), "ptr") == std::vector<std::int64_t>{0, 2, 3, 4, 5});
  CHECK(numbers<std::int32_t>(t.save(), "row") == std::vector<std::int32_t>{0, 1, 0, 1, 2});
  CHECK(numbers<float>(t.save(), "values") == std::vector<float>{1, 3, 2, 4, 5});
  for (const DType dtype : movable_dtypes()) {
    const Dense d = any_bits(dice, dtype, {6, 5});
    const Mask keep = by("random:fraction=0.5").select(normals(dice, {6, 5}));
    const Tensor mine = registry().load(packed(d, keep, "my-csc").save());
    CHECK(same_bits(mine.to_dense(), masked_by(d, keep)));
    for (const char* to : {"csr", "csc", "bitmask", "my-csc"}) {
      const Tensor repacked = convert(mine, Spec(to));
      CHECK(same_parts(repacked.save(), packed(d, keep, to).save()));
      CHECK(same_parts(convert(repacked, Spec("my-csc")).save(), mine.save()));
    }
  }
  Stored damaged = t.save();
  set_number(part(damaged, "row"), 1, std::int32_t{3});
  CHECK(error_of([&] { registry().load(damaged); }) != "");
}

TEST_CASE("a user-defined sparsifier writes user-defined CSC by its registered implementation") {
  // Section 3.3: dense_to_csc_random_fraction(RandomFractionSparsifier(0.5), tensor)
  Dice dice(2);
  const Dense x = normals(dice, {50, 40});
  const StrictWatch watch;
  const int before = drops;
  const Tensor t = sparsify(x, by("drop:fraction=0.9"), Spec("my-csc"));
  CHECK(drops == before + 1);
  CHECK(t.layout() == "my-csc");
  CHECK(share(t) == doctest::Approx(0.1).epsilon(0.2));
  CHECK(same_bits(t.to_dense(), masked_by(x, Sparsifier(Drop{0.9}).select(x))));
  // The built-in random sparsifier has no implementation for my-csc.
  const Tensor other = sparsify(x, RandomFraction{0.9, 3}, Spec("my-csc"));
  CHECK(other.layout() == "my-csc");
  CHECK(share(other) == doctest::Approx(0.1).epsilon(0.2));
}

TEST_CASE("the external sparsifier of a two-pass format uses its implementation for the layout") {
  // Section 3.3: register_sparsifier_implementation(sparsifier, inp=CscTensor, out=CscTensor), and
  // "highly optimized implementations of two-pass sparsifiers".
  Dice dice(12);
  const Tensor x = normals(dice, {50, 40});
  const OutFormat two{Threshold{0.5}, Spec("my-csc"), Drop{0.8}, Spec("my-csc")};
  const StrictWatch watch;
  const int before = further_drops;
  const Tensor t = scale(x, 2, two);
  CHECK(further_drops == before + 1);
  CHECK(t.layout() == "my-csc");
  Mask want = Sparsifier(Threshold{0.5}).select(scale(x, 2).to_dense());
  const Mask second = Sparsifier(Drop{0.8}).select(x.to_dense());
  for (Index i = 0; i < want.size(); ++i) want.set(i, want[i] && second[i]);
  CHECK(same_bits(t.to_dense(), masked_by(scale(x, 2).to_dense(), want)));
  CHECK(plan_sparsify(Drop{0.8}, Spec("my-csc"), Spec("my-csc")).text ==
        "drop(my-csc) -> my-csc: exact");
  // A layout without an implementation is converted through csr.
  const SparsifyPlan plan =
      plan_sparsify(by("magnitude:sparsity=0.9"), Spec("my-csc"), Spec("csc"));
  CHECK(plan.kind == DispatchKind::converted);
  CHECK(plan.text ==
        "magnitude(my-csc) -> csc: no implementation for these layouts; my-csc -> csr, "
        "magnitude(csr) -> csr, csr -> csc (cost 2)");
  const Tensor further = sparsify(t, by("magnitude:sparsity=0.95"), Spec("csc"));
  CHECK(further.layout() == "csc");
  CHECK(further.stored().count() == 100);
}

TEST_CASE("add with a user-defined CSC output format gives CSC outputs and CSC gradients") {
  // Section 3.3: sparse_add = sten.sparsified_op(orig_op=torch.add, out_fmt=..., grad_out_fmt=...)
  const OutFormat half{KeepAll{}, Spec("dense"), RandomFraction{0.5, 1}, Spec("my-csc")};
  const OutFormat half_of_grad{KeepAll{}, Spec("dense"), RandomFraction{0.5, 2}, Spec("my-csc")};
  const auto sparse_add = [&](const Var& a, const Var& b) {
    return add(a, b, Formats(half, half_of_grad));
  };
  Dice dice(3);
  const Tensor a = normals(dice, {30, 40}), b = normals(dice, {30, 40}), v = normals(dice, {40, 5}),
               dy = normals(dice, {30, 5});
  const StrictWatch watch;
  Tape tape;
  // Gradients of sparse values stay sparse.
  const OutFormat all = OutFormat::fused(KeepAll{}, Spec("my-csc"));
  const Var va = tape.parameter(a, all), vb = tape.parameter(b, all), c = sparse_add(va, vb);
  CHECK(c.value().layout() == "my-csc");
  const Dense sum = add(a, b).to_dense();
  CHECK(same_bits(c.value().to_dense(), masked_by(sum, half.external.select(sum))));
  c.retain_grad();
  tape.backward(matmul(c, v), dy);
  CHECK(c.grad()->layout() == "my-csc");
  CHECK(same_mask(c.grad()->stored(), half_of_grad.external.select(sum)));
  // a and b get the values of the sparse gradient.
  CHECK(same_bits(va.grad()->to_dense(), c.grad()->to_dense()));
  CHECK(same_bits(vb.grad()->to_dense(), c.grad()->to_dense()));
  CHECK(watch.plans.at(0) ==
        "add(dense, dense) -> random/my-csc: exact; external random moved inline");
}

// Section 3.4, `class SparseLinear(torch.nn.Module)`: the weight is CSC, and so is its gradient.
struct SparseLinear : Module {
  const ModuleWeight& w;
  SparseLinear(Index in, Index out, double sparsity, const OutFormat& grad)
      : w(weight("w", {in, out}, Spec::parse("normal:std=1"))) {
    initialize(4);
    sparsify("w", {RandomFraction{sparsity}, Spec("csc"), grad});
  }
  Var forward(const Var& x) const { return matmul(x, w); }
};

TEST_CASE("a sparse linear layer learns with a csc weight at fixed positions") {
  Dice dice(4);
  const Tensor x = normals(dice, {64, 20});
  const OutFormat papers{KeepAll{}, Spec("dense"), RandomFraction{0.5, 5}, Spec("csc")},
      own_positions = OutFormat::fused(SamePattern{}, Spec("csc"));
  for (const OutFormat& grad : {papers, own_positions}) {
    CAPTURE(grad.str());
    SparseLinear layer(20, 10, 0.5, grad);
    const Tensor first = layer.values().at("w");
    const Tensor y = matmul(x, first.with_values(normals(dice, {first.stored().count()}).values));
    std::vector<float> losses;
    const StrictWatch watch;
    for (int step = 0; step < 20; ++step) {
      Gradients g = gradients(layer, [&] { return mse(layer.forward(x), Var(y)); });
      Tensor& gradient = g.of.at("w");
      CHECK(gradient.layout() == "csc");
      // The step that the paper calls in place: the old w does not change, and the new one has the
      // gradient at its positions (SameFormatSparsifier, section 4.4).
      scale_(gradient, -0.2);
      add_(layer.parameters().front()->value, gradient);
      losses.push_back(g.loss.values()->as<float>()[0]);
    }
    // A random half of the positions has no gradient in the paper's format.
    CHECK(losses.back() < 0.75 * losses.front());
    CHECK(layer.values().at("w").layout() == "csc");
    CHECK(same_mask(layer.values().at("w").stored(), first.stored()));
    CHECK(watch.plans.at(0) == "matmul(dense, csc) -> keep-all/dense: exact");
  }
}

// An existing model: its code does not know of sparsity.
struct Activated : Module {
  const ModuleWeight& w = weight("weight", {20, 30}, Spec::parse("normal:std=1"));
  Var forward(const Var& x) const { return named("gelu", gelu(linear(x, w))); }
};
struct Model : Module {
  Child<Activated> net = child<Activated>("net");
  const ModuleWeight& out = weight("out", {20, 5}, Spec::parse("normal:std=1"));
  Var forward(const Var& x) const { return matmul(net(x), out); }
};

TEST_CASE("a traced model is sparsified by the names of a weight and an activation") {
  // Section 3.4: sb = sten.SparsityBuilder(), and section 4.1, the trace.
  Dice dice(11);
  const Tensor x = normals(dice, {16, 30});
  Model net;
  net.initialize(1);
  const Graph traced = trace(net, {{"x", x}});
  SparsityBuilder sb;
  // Sparsify a parameter:
  sb.set_weight("net.weight", by("drop:fraction=0.9"), Spec("my-csc"));
  // Sparsify an intermediate activation:
  sb.set_interm("net.gelu",
                {by("drop:fraction=0.9"), Spec("my-csc"), by("keep-all"), Spec("my-csc")});
  // Create sparse version of original model:
  const Graph snet = sb.sparse_graph(traced);
  const NamedValues<Tensor> w = sparse_weights(snet, net.values());

  CHECK(w.at("net.weight").layout() == "my-csc");
  CHECK(share(w.at("net.weight")) == doctest::Approx(0.1).epsilon(0.3));
  CHECK(w.at("out").layout() == "dense");
  const StrictWatch watch;
  snet.run<Tensor>(w, {{"x", x}});
  CHECK(watch.plans.at(0) == "linear(dense, my-csc) -> keep-all/dense: exact");
  CHECK(watch.plans.at(2) == "gelu(dense) -> drop/my-csc: exact");
  // The original model does not change.
  CHECK(net.values().at("net.weight").layout() == "dense");
  CHECK(traced.find_weight("net.weight")->format.is_dense());
}

// Section 4.5: a user-defined forward, and its backward with the preserved state (ctx).
Outputs hinge(const Call& call) {
  const Dense& x = call.in[0].as<Dense>();
  const Mask above = Sparsifier(Relu{}).select(x);
  call.save("above", registry().pack(x, above, Spec("masked")));
  return {Tensor(masked_by(x, above))};
}
Outputs hinge_grad(const Call& call) {
  const Mask above = call.saved("above")->stored();
  return {Tensor(masked_by(call.in[0].as<Dense>(), above))};
}
const bool has_hinge = declare_operator("hinge", {SavedForBackward::nothing}) &&
                       add_operator({"hinge", {"dense"}, {{}}}, hinge) &&
                       add_operator({"hinge.grad", {"dense"}, {{}}}, hinge_grad);

TEST_CASE("a user-defined backward reads the state that its forward saved") {
  Dice dice(9);
  const Tensor x = normals(dice, {6, 5}), dy = normals(dice, {6, 5});
  const StrictWatch watch;
  Tape tape;
  const Var a = tape.parameter(x), b = tape.parameter(x);
  tape.backward(apply("hinge", {a}), dy);
  tape.backward(relu(b), dy);
  CHECK(same_bits(a.grad()->to_dense(), b.grad()->to_dense()));
}

TEST_CASE(
    "add_ keeps the layout and positions of a sparse tensor, and View::set() writes a slice") {
  // Section 4.4: add_, views, and the in-place fallback's resparsification.
  Dice dice(10);
  const StrictWatch watch;
  Tensor x = sparsify(normals(dice, {6, 5}), by("magnitude:sparsity=0.5"), Spec("my-csc"));
  const Mask before = x.stored();
  const Dense y = normals(dice, {6, 5}),
              sum = masked_by(add(Tensor(x.to_dense()), y).to_dense(), before);
  add_(x, y);
  CHECK(x.layout() == "my-csc");
  CHECK(same_bits(x.to_dense(), sum));
  Tensor z = y;
  View(z, 0, 2, 4).set(Tensor(Dense::zeros(DType::F32, {2, 5})));
  CHECK(same_bits(slice(z, 0, 2, 4).to_dense(), Dense::zeros(DType::F32, {2, 5})));
  CHECK(same_bits(slice(z, 0, 4, 6).to_dense(), slice(Tensor(y), 0, 4, 6).to_dense()));
}
