// SPDX-License-Identifier: Apache-2.0
// Claims of the paper on STen (Ivanov et al. 2023) in its text, checked with the layout and
// the sparsifier of the examples.
#include "libsten/core/sparsify/same_pattern.h"
#include "libsten/core/sparsify/streaming.h"
#include "libsten/model/graph/sparsity_builder.h"
#include "libsten/training/optim/sgd.h"
#include "tests/extend/paper.h"

using namespace sten;
using namespace sten::testing;

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

TEST_CASE(
    "an operator without a sparse implementation runs dense, warns once, fails in strict mode") {
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

TEST_CASE("a layout with a lossless conversion to csr uses the implementations of csr") {
  // Section 4.4, conversions that lose nothing.
  Dice dice(6);
  const Mask band = packed(Dense::zeros(DType::F32, {6, 6}), "banded:k=1").stored();
  const Dense a = masked_by(normals(dice, {6, 6}), band);
  const Tensor b = normals(dice, {6, 4}), c = matmul(Tensor(a), b);
  const Tensor sparse = packed(a, band, "banded:k=1");
  const Watch watch;
  const Tensor got = matmul(sparse, b);
  for (Index i = 0; i < 24; ++i)
    CHECK(got.values()->as<float>()[i] == doctest::Approx(c.values()->as<float>()[i]));
  CHECK(
      watch.plans ==
      std::vector<std::string>{
          "matmul(banded, dense) -> keep-all/dense: no implementation for these layouts; converts "
          "banded to csr (cost 1) for matmul(csr, dense) -> keep-all/dense"});
}

TEST_CASE("an operator writes its output directly in a user-defined layout reachable from csr") {
  Dice dice(8);
  const Tensor x = normals(dice, {8, 6}), w = normals(dice, {5, 6});
  const OutFormat format = OutFormat::fused(Relu{}, Spec("my-csc"));
  const Watch watch;
  const Tensor y = linear(x, w, format);
  CHECK(y.layout() == "my-csc");
  CHECK(same_bits(y.to_dense(), relu(linear(x, w)).to_dense()));
  CHECK(watch.plans.at(0) == "linear(dense, dense) -> relu/my-csc: exact");
}

TEST_CASE("gradients of weights and of intermediates have separate output formats") {
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
  h.retain_grad();
  tape.backward(y, Tensor(normals(dice, {16, 5})));
  CHECK(h.grad()->layout() == "csc");
  CHECK(weight.grad()->layout() == "coo");
  CHECK(watch.plans.at(0) == "matmul(dense, csc) -> relu/csr: exact");
  CHECK(watch.plans.at(2) == "matmul.grad(dense, csr, dense) -> threshold/csc, none: exact");
}

TEST_CASE("a sparsified model trains with gradient formats for weights and intermediates") {
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
