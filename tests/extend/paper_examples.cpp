// The code examples of the paper on STen (Ivanov et al. 2023), as a user of sten writes them.
#include <doctest/doctest.h>

#include <numeric>

#include "libsten/base/log.h"
#include "libsten/dispatch/route.h"
#include "libsten/graph/sparsity_builder.h"
#include "libsten/layout/compressed.h"
#include "libsten/ops/operators.h"
#include "libsten/optim/sgd.h"
#include "libsten/sparsify/same_pattern.h"
#include "libsten/sparsify/streaming.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Section 3.1, `class CscTensor`: a layout with its way to dense and from there.
struct MyCsc {
  static constexpr const char* name = "my-csc";
  static constexpr bool holds_any_pattern = true;
  Shape extents;
  Array<std::int64_t> ptr;  // entries ptr[c] to ptr[c + 1] are those of column c
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
  // Not in the paper: what files claim is checked, and kept zeros count as stored.
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
const bool has_ways = add_edge<MyCsc, Csr>(my_csc_to_csr) && add_edge<Csr, MyCsc>(csr_to_my_csc);

// Section 3.3, `class RandomFractionSparsifier`, and its implementation for dense to CSC.
struct Drop {
  static constexpr const char* name = "drop";
  double fraction = 0.5;
  bool keep(auto, Index i) const { return random_uniform(7, i) >= fraction; }
  static Drop make(const Spec& spec) { return {fraction_of(spec, "fraction")}; }
};
const bool has_drop = add_sparsifier<Drop>("drop:fraction=0.5");
int drops = 0;
std::optional<Tensor> drop_to_my_csc(const Dense& x, const Spec& drop, const Spec& layout,
                                     Mask* kept) {
  ++drops;
  Mask m = Mask::none(x.extents);
  for (Index i = 0; i < x.size(); ++i)
    if (Drop::make(drop).keep(0, i)) set_bit(m.bits.mutate(), i);
  if (kept) *kept = m;
  return MyCsc::pack(x, m, layout);
}
const bool has_drop_to_my_csc = [] {
  registry().add_fused("drop", "my-csc", drop_to_my_csc);
  return true;
}();

double share(const Tensor& x) {
  return static_cast<double>(x.stored().count()) / static_cast<double>(size_of(x.shape()));
}
double mean_square(const Tensor& x) {
  const Tensor squares = mul(x, x);
  const auto v = squares.values()->as<float>();
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}
Sparsifier by(const char* spec) { return registry().sparsifier(Spec::parse(spec)); }

// The plans that are carried out while it lives, and the warnings.
struct Watch {
  std::vector<std::string> plans, warnings;
  Watch() {
    Operators::log_plans(&plans);
    set_log_sink([this](const std::string& text) { warnings.push_back(text); });
  }
  ~Watch() {
    Operators::log_plans(nullptr);
    set_log_sink([](const std::string& text) {
      std::fputs(("sten: warning: " + text + "\n").c_str(), stderr);
    });
  }
};

}  // namespace

TEST_CASE("a CSC layout of one's own is saved, loaded and converted as the built-in one is") {
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
      const Tensor there = convert(mine, Spec(to));
      CHECK(same_parts(there.save(), packed(d, keep, to).save()));
      CHECK(same_parts(convert(there, Spec("my-csc")).save(), mine.save()));
    }
  }
  Stored damaged = t.save();
  set_number(part(damaged, "row"), 1, std::int32_t{3});
  CHECK(error_of([&] { registry().load(damaged); }) != "");
}

TEST_CASE("a sparsifier of one's own writes a CSC layout of one's own, by the way that was added") {
  // Section 3.3: dense_to_csc_random_fraction(RandomFractionSparsifier(0.5), tensor)
  Dice dice(2);
  const Dense x = normals(dice, {50, 40});
  const int before = drops;
  const Tensor t = sparsify(x, by("drop:fraction=0.9"), Spec("my-csc"));
  CHECK(drops == before + 1);
  CHECK(t.layout() == "my-csc");
  CHECK(share(t) == doctest::Approx(0.1).epsilon(0.2));
  CHECK(same_bits(t.to_dense(), masked_by(x, Sparsifier(Drop{0.9}).select(x))));
  // The one that sten brings along, without such a way.
  const Tensor other = sparsify(x, RandomFraction{0.9, 3}, Spec("my-csc"));
  CHECK(other.layout() == "my-csc");
  CHECK(share(other) == doctest::Approx(0.1).epsilon(0.2));
}

TEST_CASE(
    "a sparse operator is an operator with an output format: add gives CSC, and so gradients") {
  // Section 3.3: sparse_add = sten.sparsified_op(orig_op=torch.add, out_fmt=..., grad_out_fmt=...)
  const OutFormat half{KeepAll{}, Spec("dense"), RandomFraction{0.5, 1}, Spec("my-csc")};
  const OutFormat half_of_grad{KeepAll{}, Spec("dense"), RandomFraction{0.5, 2}, Spec("my-csc")};
  const auto sparse_add = [&](const Var& a, const Var& b) {
    return add(a, b, Formats(half, half_of_grad));
  };
  Dice dice(3);
  const Tensor a = normals(dice, {30, 40}), b = normals(dice, {30, 40}), v = normals(dice, {40, 5}),
               dy = normals(dice, {30, 5});
  Watch watch;
  Tape tape;
  const Var va = tape.parameter(a), vb = tape.parameter(b), c = sparse_add(va, vb);
  CHECK(c.value().layout() == "my-csc");
  const Dense sum = add(a, b).to_dense();
  CHECK(same_bits(c.value().to_dense(), masked_by(sum, half.external.select(sum))));
  c.keep_grad();
  tape.backward(matmul(c, v), dy);
  CHECK(c.grad()->layout() == "my-csc");
  CHECK(same_mask(c.grad()->stored(), half_of_grad.external.select(sum)));
  // What goes on to a and b is what the sparse gradient holds.
  CHECK(same_bits(va.grad()->to_dense(), c.grad()->to_dense()));
  CHECK(same_bits(vb.grad()->to_dense(), c.grad()->to_dense()));
  CHECK(watch.plans.at(0) == "add(dense, dense) -> keep-all/dense: exact");
}

TEST_CASE("the sum of two sparse tensors with keep-all has the union of their positions") {
  // Section 3.3, the keep-all sparsifier.
  const Tensor a = packed(Dense::of({2, 3}, {1, 0, 2, 0, 0, 3}), "csr"),
               b = packed(Dense::of({2, 3}, {0, 4, -2, 0, 0, 5}), "csr");
  Watch watch;
  const Tensor c = add(a, b, OutFormat::fused(KeepAll{}, Spec("csr")));
  CHECK(ones_of(c.stored()) == std::vector<int>{1, 1, 1, 0, 0, 1});
  CHECK(same_bits(c.to_dense(), Dense::of({2, 3}, {1, 4, 0, 0, 0, 8})));
  CHECK(watch.plans.at(0) == "add(csr, csr) -> keep-all/csr: exact");
}

// Section 3.4, `class SparseLinear`: weights are CSC, and so are their gradients.
struct SparseLinear {
  Parameter w;
  OutFormat grad;
  SparseLinear(Dice& dice, Index in, Index out, double sparsity, const OutFormat& grad)
      : w(sparsify(normals(dice, {in, out}), RandomFraction{sparsity}, Spec("csc"))), grad(grad) {}
  Var forward(Tape& tape, const Var& x, Var& weight) const {
    weight = tape.parameter(w.value, grad);
    return matmul(x, weight);
  }
};

TEST_CASE("a sparse linear layer from scratch learns, and its weight stays CSC where it was") {
  const OutFormat grads[] = {
      OutFormat{KeepAll{}, Spec("dense"), RandomFraction{0.5, 5}, Spec("csc")},  // the paper's
      OutFormat::fused(SamePattern{}, Spec("csc")),                              // the default
  };
  for (const OutFormat& grad : grads) {
    CAPTURE(grad.str());
    Dice dice(4);
    SparseLinear layer(dice, 20, 10, 0.5, grad);
    const Mask before = layer.w.value.stored();
    const Tensor x = normals(dice, {64, 20});
    const Tensor y = matmul(x, layer.w.value.with_values(normals(dice, {before.count()}).values));
    const Sgd sgd({.rate = 0.2});
    double first = 0, last = 0;
    for (int step = 0; step < 20; ++step) {
      Tape tape;
      Var w = layer.w.value;
      const Var miss = sub(layer.forward(tape, x, w), y);
      tape.backward(miss, scale(miss.value(), 2.0 / 640));  // of the mean square
      CHECK(w.grad()->layout() == "csc");
      sgd.step(layer.w, *w.grad());
      last = mean_square(miss.value());
      if (step == 0) first = last;
    }
    CHECK(last < first / 2);
    CHECK(layer.w.value.layout() == "csc");
    CHECK(same_mask(layer.w.value.stored(), before));
  }
}

TEST_CASE(
    "an operator without a sparse implementation runs dense, warns once, and fails if strict") {
  // Section 3.2, the fallback to dense implementations.
  Dice dice(5);
  const Dense d =
      masked_by(normals(dice, {8, 6}), by("random:fraction=0.5").select(normals(dice, {8, 6})));
  const Tensor x = packed(d, "my-csc");
  const std::string plan =
      "sigmoid(my-csc) -> keep-all/dense: no implementation for these layouts; dense with masks, "
      "sigmoid(dense) -> keep-all/dense";
  CHECK(operators().plan({"sigmoid", {"my-csc"}})->text == plan);
  const Watch watch;
  CHECK(same_bits(sigmoid(x).to_dense(), sigmoid(Tensor(d)).to_dense()));
  sigmoid(x);
  CHECK(watch.warnings == std::vector<std::string>{plan});
  set_strict(true);
  CHECK(error_of([&] { sigmoid(x); }) == "strict: " + plan);
  set_strict(false);
}

TEST_CASE("a layout with one lossless way to a known one has its implementations") {
  // Section 4.4, conversions that lose nothing.
  Dice dice(6);
  const Mask band = packed(Dense::zeros(DType::F32, {6, 6}), "banded:k=1").stored();
  const Dense a = masked_by(normals(dice, {6, 6}), band);
  const Tensor b = normals(dice, {6, 4}), c = matmul(Tensor(a), b);
  for (const char* spec : {"my-csc", "banded:k=1"}) {
    const Tensor sparse = packed(a, band, spec);
    const std::string name(sparse.layout());
    const Watch watch;
    const Tensor got = matmul(sparse, b);
    for (Index i = 0; i < 24; ++i)
      CHECK(got.values()->as<float>()[i] == doctest::Approx(c.values()->as<float>()[i]));
    CHECK(watch.plans == std::vector<std::string>{
                             "matmul(" + name +
                             ", dense) -> keep-all/dense: no implementation for these layouts; "
                             "converts " +
                             name + " to csr (cost 1) for matmul(csr, dense) -> keep-all/dense"});
  }
}

TEST_CASE("operators write a layout of one's own that csr leads to while they compute") {
  Dice dice(8);
  const Tensor x = normals(dice, {8, 6}), w = normals(dice, {5, 6});
  const OutFormat format = OutFormat::fused(Relu{}, Spec("my-csc"));
  const Watch watch;
  const Tensor y = linear(x, w, format);
  CHECK(y.layout() == "my-csc");
  CHECK(same_bits(y.to_dense(), relu(linear(x, w)).to_dense()));
  CHECK(watch.plans.at(0) == "linear(dense, dense) -> relu/my-csc: exact");
}

TEST_CASE("gradients of weights and of intermediate tensors have formats of their own") {
  // Section 3.4: sb.set_weight_grad and sb.set_interm_grad.
  Dice dice(7);
  const Tensor x = normals(dice, {16, 20}),
               w = packed(normals(dice, {20, 10}),
                          by("random:fraction=0.8").select(normals(dice, {20, 10})), "csc"),
               v = normals(dice, {10, 5});
  Watch watch;
  Tape tape;
  const Var weight = tape.parameter(w, OutFormat::fused(RandomFraction{0.9}, Spec("coo")));
  const Formats formats(OutFormat::fused(Relu{}, Spec("csr")),
                        OutFormat::fused(Threshold{1}, Spec("csc")));
  const Var h = matmul(Var(x), weight, formats), y = matmul(h, v);
  CHECK(h.value().layout() == "csr");
  h.keep_grad();
  tape.backward(y, Tensor(normals(dice, {16, 5})));
  CHECK(h.grad()->layout() == "csc");
  CHECK(weight.grad()->layout() == "coo");
  CHECK(watch.plans.at(0) == "matmul(dense, csc) -> relu/csr: exact");
  CHECK(watch.plans.at(2) == "matmul.grad(dense, csr, dense) -> threshold/csc, none: exact");
}

TEST_CASE("an existing model is made sparse: a weight and an activation, by their names") {
  // Section 3.4: sb = sten.SparsityBuilder()
  const Graph net({{"x"},
                   {{"net.weight", {20, 30}, Spec::parse("normal:std=1")},
                    {"net.out", {20, 5}, Spec::parse("normal:std=1")}},
                   {{"net", "linear", {"x", "net.weight"}},
                    {"net.gelu", "gelu", {"net"}},
                    {"y", "matmul", {"net.gelu", "net.out"}}},
                   {"y", "net.gelu"}});
  SparsityBuilder sb;
  // Sparsify a parameter:
  sb.set_weight("net.weight", by("drop:fraction=0.9"), Spec("my-csc"));
  // Sparsify an intermediate activation:
  sb.set_interm("net.gelu",
                {by("drop:fraction=0.9"), Spec("my-csc"), by("keep-all"), Spec("my-csc")});
  // Create sparse version of original model:
  const Graph snet = sb.sparse_graph(net);
  const NamedValues<Tensor> dense = initial_weights(net, 1), w = sparse_weights(snet, dense);

  CHECK(w.at("net.weight").layout() == "my-csc");
  CHECK(share(w.at("net.weight")) == doctest::Approx(0.1).epsilon(0.3));
  CHECK(w.at("net.out").layout() == "dense");
  Dice dice(11);
  const Tensor x = normals(dice, {16, 30});
  const Watch watch;
  const NamedValues<Tensor> y = snet.run<Tensor>(w, {{"x", x}});
  CHECK(y.at("net.gelu").layout() == "my-csc");
  CHECK(share(y.at("net.gelu")) == doctest::Approx(0.1).epsilon(0.3));
  CHECK(watch.plans.at(1) == "gelu(dense) -> drop/my-csc: exact");
  // The original model is as it was.
  CHECK(net.run<Tensor>(dense, {{"x", x}}).at("net.gelu").layout() == "dense");
  CHECK(net.find_weight("net.weight")->format.is_dense());
}

TEST_CASE("the gradients of a model made sparse are sparse, each in a format of its own") {
  // Section 3.4: sb.set_weight_grad and sb.set_interm_grad, and iterative sparsification.
  const Graph net({{"x", "target"},
                   {{"net.weight", {20, 30}, Spec::parse("uniform:bound=0.1")}},
                   {{"net", "linear", {"x", "net.weight"}},
                    {"net.relu", "relu", {"net"}},
                    {"loss", "mse", {"net.relu", "target"}}},
                   {"loss"}});
  SparsityBuilder sb;
  sb.set_weight("net.weight", by("magnitude:sparsity=0.5"), Spec("masked"));
  sb.set_weight_grad("net.weight", OutFormat::after(by("magnitude:sparsity=0.75"), Spec("masked")));
  sb.set_interm_grad("net", OutFormat::after(by("magnitude:sparsity=0.9"), Spec("dense")));
  const Graph snet = sb.sparse_graph(net);
  Parameter weight("net.weight", sparse_weights(snet, initial_weights(net, 2)).at("net.weight"));
  Dice dice(12);
  const NamedValues<Var> in{{"x", Tensor(normals(dice, {64, 30}))},
                            {"target", Tensor(normals(dice, {64, 20}))}};
  const Sgd sgd({.rate = 5});
  std::vector<double> losses;
  for (int step = 0; step < 30; ++step) {
    // The sparsity can be adjusted as fine-tuning proceeds.
    if (step == 15)
      weight.value = sparsify(weight.value, by("magnitude:sparsity=0.75"), Spec("masked"));
    Tape tape;
    const NamedValues<Var> w = tape_weights(tape, snet, {{"net.weight", weight.value}});
    const Var loss = snet.run<Var>(w, in).at("loss");
    tape.backward(loss);
    CHECK(w.at("net.weight").grad()->stored().count() == 150);
    sgd.step(weight, *w.at("net.weight").grad());
    losses.push_back(loss.value().values()->as<float>()[0]);
  }
  CHECK(losses[14] < losses[0]);
  CHECK(losses[29] < losses[15]);
  CHECK(weight.value.stored().count() == 150);
}
