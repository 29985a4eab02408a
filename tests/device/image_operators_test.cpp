// SPDX-License-Identifier: Apache-2.0
// Image operators on a device: batch norms, pooling, convolutions.
#include "tests/device/row_checks.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("batch norms and their gradients on a device match the CPU's") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(9);
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{200, 33}, Shape{2, 1}, Shape{3, 1100}}) {
    const Index n = shape.back();
    const Tensor x = normals(dice, shape), dy = normals(dice, shape), gamma = normals(dice, {n}),
                 beta = normals(dice, {n}), mean = normals(dice, {n}),
                 variance = apply("mul", {gamma, gamma});
    for (const bool relu : {false, true}) {
      const Attributes at = Attributes().set("relu", Index{relu}).set("eps", 1e-4);
      check_row_on_device("batch-norm-train", {x, gamma, beta}, at);
      check_row_on_device("batch-norm-train.grad", {dy, x, gamma, beta}, at, 3);
      check_row_on_device("batch-norm", {x, gamma, beta, mean, variance}, at);
      check_row_on_device("batch-norm.grad", {dy, x, gamma, beta, mean, variance}, at, 5);
    }
    check_row_on_device("batch-moments", {x}, Attributes().set("sample", Index{1}));
    check_row_on_device("batch-moments", {x}, {});
  }
}

TEST_CASE("pooling and its gradients on a device match the CPU's") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(10);
  using List = Attributes::List;
  struct Case {
    Shape x;
    Attributes at;
  };
  const auto sliding = [](List kernel, List strides, List pads, List dilations, bool ceil) {
    return Attributes()
        .set("kernel", std::move(kernel))
        .set("strides", std::move(strides))
        .set("pads", std::move(pads))
        .set("dilations", std::move(dilations))
        .set("ceil", Index{ceil});
  };
  const auto check = [&](const std::string& op, const Shape& shape, const Attributes& at,
                         bool is_max) {
    // Rounded, so that elements are equal.
    const Tensor x =
        apply("round", {apply("scale", {normals(dice, shape)}, Attributes().set("by", 2.0))});
    const Tensor dy = normals(dice, apply(op, {x}, at).shape());
    check_row_on_device(op, {x}, at);
    check_row_on_device(op + ".grad", is_max ? std::vector<Tensor>{dy, x} : std::vector<Tensor>{dy},
                        at, 1, {shape});
  };
  for (const Case& c :
       {Case{{2, 7, 6, 5}, sliding({3, 2}, {2, 1}, {1, 0, 1, 1}, {1, 1}, false)},
        Case{{1, 9, 9, 3}, sliding({3, 3}, {2, 2}, {0, 1, 0, 1}, {2, 1}, true)},
        Case{{2, 8, 4}, sliding({2}, {3}, {0, 0}, {1}, true)},
        Case{{1, 4, 5, 6, 2},
             sliding({2, 3, 2}, {1, 2, 2}, {1, 1, 1, 0, 1, 1}, {1, 1, 1}, false)}}) {
    check("max-pool", c.x, c.at, true);
    check("average-pool", c.x, c.at, false);
    check("average-pool", c.x, Attributes(c.at).set("count-pads", Index{1}), false);
  }
  for (const Case& c : {Case{{2, 7, 6, 5}, Attributes().set("size", List{3, 4})},
                        Case{{2, 7, 6, 5}, Attributes().set("size", List{1, 1})},
                        Case{{1, 3, 2}, Attributes().set("size", List{5})}}) {
    check("adaptive-max-pool", c.x, c.at, true);
    check("adaptive-average-pool", c.x, c.at, false);
  }
}

TEST_CASE("dense convolutions, transposed or not, and gradients on a device match the CPU's") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(12);
  using List = Attributes::List;
  struct Case {
    Shape x, w;
    Attributes at;
  };
  const auto windows = [](List strides, List pads, List dilations, Index groups) {
    return Attributes()
        .set("strides", std::move(strides))
        .set("pads", std::move(pads))
        .set("dilations", std::move(dilations))
        .set("groups", groups);
  };
  for (const Case& c :
       {Case{{2, 6, 7, 5}, {4, 5, 3, 3}, windows({1, 1}, {1, 1, 1, 1}, {1, 1}, 1)},
        Case{{3, 8, 9, 6}, {4, 3, 3, 2}, windows({2, 3}, {1, 0, 2, 1}, {2, 1}, 2)},
        Case{{2, 5, 4, 6}, {8, 6, 1, 1}, windows({1, 1}, {0, 0, 0, 0}, {1, 1}, 1)},
        Case{{2, 5, 4, 6}, {8, 3, 1, 1}, windows({1, 1}, {0, 0, 0, 0}, {1, 1}, 2)},
        Case{{2, 5, 4, 6}, {8, 6, 1, 1}, windows({2, 2}, {0, 0, 0, 0}, {1, 1}, 1)},
        Case{{1, 9, 4}, {4, 1, 3}, windows({1}, {2, 0}, {1}, 4)},
        Case{
            {1, 4, 5, 3, 2}, {3, 2, 2, 3, 1}, windows({1, 2, 1}, {1, 1, 0, 0, 1, 0}, {1, 1, 1}, 1)},
        Case{{0, 5, 4, 6}, {8, 6, 3, 3}, windows({1, 1}, {1, 1, 1, 1}, {1, 1}, 1)}})
    for (const bool transposed : {false, true}) {
      const std::string op = transposed ? "conv-transpose" : "conv";
      const Tensor w = normals(dice, c.w);
      Shape from = c.x;
      if (transposed) from.back() = c.w[0];
      const Index groups = c.at.integer("groups", 1);
      const Tensor x = normals(dice, from),
                   b = normals(dice, {transposed ? c.w[1] * groups : c.w[0]});
      check_row_on_device(op, {x, w}, c.at);
      const Tensor dy = normals(dice, apply(op, {x, w}, c.at).shape());
      check_row_on_device(op, {x, w, b}, c.at);
      check_row_on_device(op + ".grad", {dy, x, w}, c.at, 2);
      check_row_on_device(op + ".grad", {dy, x, w, b}, c.at, 3);
    }
}

TEST_CASE("the gradient of a masked convolution weight on a device has the weight's mask") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(13);
  const Attributes at = Attributes().set("pads", Attributes::List{1, 1, 1, 1});
  const Tensor x = normals(dice, {2, 5, 6, 4}), dy = normals(dice, {2, 5, 6, 3}),
               w = registry().prune(normals(dice, {3, 4, 3, 3}),
                                    Spec::parse("magnitude:sparsity=0.7"), Spec("masked"));
  const auto run_on = [&](Device where) {
    Tape tape;
    const Var weight = tape.parameter(w.to(where)), in[] = {x.to(where), weight};
    const Var y = tape.apply("conv", in, at);
    tape.backward(y, dy.to(where));
    return std::vector<Tensor>{y.value(), *weight.grad()};
  };
  const std::vector<Tensor> here = run_on(Device::cpu), on_device = run_on(Device::cuda);
  CHECK(on_device[1].layout() == "masked");
  CHECK(same_mask(on_device[1].to(Device::cpu).stored(), w.stored()));
  for (const int i : {0, 1}) check_as_here(on_device[i], here[i]);
}
