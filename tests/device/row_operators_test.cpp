// Operators on a device that work row by row: softmax, layer norm, embedding, losses, attention.
#include <doctest/doctest.h>

#include <cmath>

#include "libsten/ops/operators.h"
#include "tests/device/serial_backend.h"
#include "tests/support/tensors.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

// A device that nothing falls back from.
struct StrictDevice {
  SerialDevice device;
  StrictDevice() { set_strict(true); }
  ~StrictDevice() { set_strict(false); }
};

Outputs run_outputs(Name op, const std::vector<Tensor>& in, const Attributes& attributes,
                    std::size_t outputs, std::span<const Shape> shapes = {},
                    std::span<const OutHints> hints = {}) {
  const std::vector<const OutFormat*> formats(outputs, &OutFormat::dense());
  return run(op, {in, formats, attributes, shapes, hints});
}

std::vector<Tensor> all_there(const std::vector<Tensor>& in) {
  std::vector<Tensor> there;
  for (const Tensor& x : in) there.push_back(x.to(Device::cuda));
  return there;
}

double largest_of(const Tensor& x) {
  double most = 0;
  for (const float v : floats(x.to_dense())) most = std::max(most, std::abs(double{v}));
  return most;
}

// To 1e-6 of the largest, or of `most` where that is more, as where gradients cancel out.
void check_as_here(const Tensor& there, const Tensor& here, double most = 0) {
  CHECK(there.device() == Device::cuda);
  REQUIRE(there.shape() == here.shape());
  const std::vector<float> x = floats(here.to_dense()),
                           y = floats(there.to(Device::cpu).to_dense());
  double worst = 0;
  bool is_finite = true;
  for (std::size_t i = 0; i < x.size(); ++i) {
    is_finite &= std::isfinite(x[i]) && std::isfinite(y[i]);
    worst = std::max(worst, std::abs(double{x[i]} - y[i]));
  }
  CHECK(is_finite);
  CHECK(worst <= 1e-6 * std::max(most, largest_of(here)));
}

// What an operator gives on a device is what it gives on the CPU, twice the same.
void check_row_there(Name op, const std::vector<Tensor>& in, const Attributes& attributes,
                     std::size_t outputs = 1, const std::vector<Shape>& shapes = {}) {
  CAPTURE(op.text());
  CAPTURE(to_string(in[0].shape()));
  CAPTURE(attributes.str());
  const auto outputs_of = [&](const std::vector<Tensor>& x) {
    return run_outputs(op, x, attributes, outputs, shapes);
  };
  const Outputs here = outputs_of(in);
  const Outputs there = outputs_of(all_there(in));
  const bool is_grad = op.text().ends_with(".grad");
  const Outputs again = outputs_of(all_there(in));
  for (std::size_t i = 0; i < outputs; ++i) {
    CAPTURE(i);
    REQUIRE(here[i].has_value() == there[i].has_value());
    if (!here[i]) continue;
    check_as_here(*there[i], *here[i], is_grad ? largest_of(in[0]) : 0);
    CHECK(floats(there[i]->to(Device::cpu).to_dense()) ==
          floats(again[i]->to(Device::cpu).to_dense()));
  }
}

Tensor numbers_of(Shape shape, const std::vector<Index>& v) {
  Dense x = Dense::zeros(DType::I64, std::move(shape));
  std::ranges::copy(v, x.values.mutate<std::int64_t>().begin());
  return x;
}
Tensor random_numbers(Dice& dice, const Shape& shape, Index from, Index to) {
  std::vector<Index> v(size_of(shape));
  for (Index& n : v) n = from + dice.below(to - from);
  return numbers_of(shape, v);
}
Tensor one_float(float v) { return f32({}, {v}); }

}  // namespace

TEST_CASE("softmax and its logarithm on a device are the CPU's along any axis") {
  const StrictDevice device;
  Dice dice(1);
  for (const Shape& shape : {Shape{5, 7}, Shape{1}, Shape{2, 3, 4}, Shape{3, 1100}, Shape{0, 3}})
    for (Index axis = 0; axis < std::ssize(shape); ++axis)
      for (const char* op : {"softmax", "log-softmax"}) {
        const Attributes at = Attributes().set("axis", axis);
        const Tensor x = normals(dice, shape), dy = normals(dice, shape);
        check_row_there(op, {x}, at);
        check_row_there(std::string(op) + ".grad", {dy, apply(op, {x}, at)}, at);
      }
}

TEST_CASE("layer norms on a device are the CPU's") {
  const StrictDevice device;
  Dice dice(2);
  for (const Shape& shape :
       {Shape{3, 5, 7}, Shape{5}, Shape{150, 33}, Shape{2, 1500}, Shape{0, 4}}) {
    const Index n = shape.back();
    const Tensor x = normals(dice, shape), dy = normals(dice, shape), gamma = normals(dice, {n}),
                 beta = normals(dice, {n});
    const Attributes at = Attributes().set("eps", 1e-4);
    check_row_there("layer-norm", {x, gamma, beta}, at);
    check_row_there("layer-norm.grad", {dy, x, gamma, beta}, at, 3);
  }
}

TEST_CASE("rows by number on a device are the CPU's, and so are their gradients") {
  const StrictDevice device;
  Dice dice(3);
  for (const Shape& ids : {Shape{3, 4}, Shape{200}, Shape{}, Shape{0}}) {
    const Tensor table = normals(dice, {9, 40}), rows = random_numbers(dice, ids, 0, 9);
    Shape shape = ids;
    shape.push_back(40);
    check_row_there("embedding", {table, rows}, {});
    check_row_there("embedding.grad", {normals(dice, shape), table, rows}, {}, 2);
    const Tensor x = normals(dice, {3, 5, 2}), places = random_numbers(dice, ids, -5, 5);
    Shape picked{3};
    picked.insert(picked.end(), ids.begin(), ids.end());
    picked.push_back(2);
    const Attributes at = Attributes().set("axis", Index{1});
    check_row_there("gather", {x, places}, at);
    check_row_there("gather.grad", {normals(dice, picked), x, places}, at, 2);
  }
}

TEST_CASE("rows by number on a device take elements of other dtypes") {
  const StrictDevice device;
  const Tensor table = numbers_of({3, 2}, {1, 2, 3, 4, 5, 6}), rows = numbers_of({2}, {-1, 0});
  const Tensor there = apply("gather", {table.to(Device::cuda), rows.to(Device::cuda)});
  const Tensor back = there.to(Device::cpu);
  const auto v = back.as<Dense>().values.as<std::int64_t>();
  CHECK(std::vector<Index>(v.begin(), v.end()) == std::vector<Index>{5, 6, 1, 2});
}

TEST_CASE("an embedding's gradient is added to a sum on a device") {
  const StrictDevice device;
  Dice dice(4);
  const Tensor table = normals(dice, {6, 5}), rows = numbers_of({4}, {1, 5, 1, 0}),
               dy = normals(dice, {4, 5}), before = normals(dice, {6, 5});
  const auto summed = [&](bool there) {
    const std::vector<Tensor> in{dy, table, rows};
    std::optional<Tensor> sum = there ? before.to(Device::cuda) : before;
    OutHints hints[2];
    hints[0].sum = &sum;
    Outputs out = run_outputs("embedding.grad", there ? all_there(in) : in, {}, 2, {}, hints);
    CHECK(!sum);
    return *out[0];
  };
  check_as_here(summed(true), summed(false));
}

TEST_CASE("a number out of range on a device is said when something is copied back") {
  const StrictDevice device;
  Dice dice(5);
  const Tensor table = normals(dice, {5, 2}), ids = numbers_of({2, 2}, {4, 0, 5, 1});
  const Tensor logits = normals(dice, {2, 3}), targets = numbers_of({2}, {-100, 3});
  const auto error_there = [](const char* op, const Tensor& x, const Tensor& numbers) {
    const Tensor y = apply(op, {x.to(Device::cuda), numbers.to(Device::cuda)});
    const std::string error = error_of([&] { y.to(Device::cpu); });
    CHECK(error == error_of([&] { apply(op, {x, numbers}); }));
    // Once; and what it would have named is NaN.
    const std::vector<float> v = floats(y.to(Device::cpu).to_dense());
    CHECK(std::ranges::any_of(v, [](float f) { return std::isnan(f); }));
    return error;
  };
  for (int again = 0; again < 2; ++again) {
    CHECK(error_there("embedding", table, ids) ==
          "embedding: ids[1, 0] is 5, but the table is [5, 2]");
    CHECK(error_there("gather", table, ids) == "gather: ids[1, 0] is 5, but x is [5, 2]");
    CHECK(error_there("cross-entropy", logits, targets) ==
          "cross-entropy: targets[1] is 3, which is none of 3 classes");
  }
  // Of the same tensor in another operator, and of good ones before and after.
  const Tensor there = ids.to(Device::cuda), good = numbers_of({1}, {0}).to(Device::cuda);
  const Tensor y = apply("embedding", {table.to(Device::cuda), good});
  const Tensor larger = normals(dice, {6, 2}).to(Device::cuda);
  apply("embedding", {larger, there});
  CHECK(error_of([&] { y.to(Device::cpu); }) == "");
  apply("embedding", {table.to(Device::cuda), there});
  apply("embedding", {larger, there});
  CHECK(error_of([&] { y.to(Device::cpu); }) != "");
  for (int i = 0; i < 300; ++i) apply("embedding", {larger, ids.to(Device::cuda)});
  CHECK(error_of([&] { y.to(Device::cpu); }) == "");
}

TEST_CASE("losses on a device are the CPU's") {
  const StrictDevice device;
  Dice dice(6);
  for (const Shape& rows : {Shape{7}, Shape{3, 5}, Shape{}, Shape{0}})
    for (const Index n : {1, 6, 1300}) {
      Shape shape = rows;
      shape.push_back(n);
      const Tensor x = normals(dice, shape), w = normals(dice, shape), dy = one_float(0.5f);
      Tensor targets = random_numbers(dice, rows, 0, n);
      targets = Tensor::update(targets, [](Values& v) {
        const auto t = v.mutate<std::int64_t>();
        for (std::size_t i = 2; i < t.size(); i += 3) t[i] = -1;
      });
      for (const double smoothing : {0.0, 0.1}) {
        const Attributes at = Attributes().set("ignore", Index{-1}).set("smoothing", smoothing);
        check_row_there("cross-entropy", {x, targets}, at);
        check_row_there("cross-entropy.grad", {dy, x, targets}, at, 2);
      }
      const Attributes at = Attributes().set("ignore", Index{-1}).set("temperature", 2.0);
      check_row_there("kl-divergence", {x, w, targets}, at);
      check_row_there("kl-divergence.grad", {dy, x, w, targets}, at, 3);
      if (x.as<Dense>().size() == 0) continue;
      check_row_there("mse", {x, w}, {});
      check_row_there("mse.grad", {dy, x, w}, {}, 2);
    }
  const Tensor ignored = numbers_of({2}, {-100, -100}), x = normals(dice, {2, 3});
  check_row_there("cross-entropy", {x, ignored}, {});
  check_row_there("cross-entropy.grad", {one_float(1), x, ignored}, {}, 2);
}

TEST_CASE("attention on a device is the CPU's, with masks, biases and causal") {
  const StrictDevice device;
  Dice dice(7);
  struct Case {
    Index batch, tokens, keys, heads, width, v_width;
  };
  for (const Case& c : {Case{2, 5, 7, 3, 4, 2}, Case{1, 6, 6, 2, 3, 3}, Case{3, 4, 4, 1, 5, 5},
                        Case{1, 1, 1, 1, 1, 1}, Case{2, 0, 3, 2, 2, 2}, Case{2, 3, 0, 2, 2, 2}}) {
    const Tensor q = normals(dice, {c.batch, c.tokens, c.heads * c.width}),
                 k = normals(dice, {c.batch, c.keys, c.heads * c.width}),
                 v = normals(dice, {c.batch, c.keys, c.heads * c.v_width}),
                 dy = normals(dice, {c.batch, c.tokens, c.heads * c.v_width});
    std::vector<Tensor> fourths{random_numbers(dice, {c.batch, c.keys}, 0, 2),
                                Dense::zeros(DType::I64, {c.batch, c.keys})};
    for (const Shape& bias : {Shape{c.batch, c.heads, c.tokens, c.keys}, Shape{c.keys},
                              Shape{c.batch, 1, 1, c.keys}, Shape{c.heads, c.tokens, 1}, Shape{}})
      fourths.push_back(normals(dice, bias));
    for (const bool is_causal : {false, true}) {
      Attributes at = Attributes().set("heads", c.heads).set("causal", Index{is_causal});
      if (is_causal) at.set("scale", 0.3);
      check_row_there("attention", {q, k, v}, at);
      check_row_there("attention.grad", {dy, q, k, v}, at, 3);
      for (const Tensor& fourth : fourths) {
        check_row_there("attention", {q, k, v, fourth}, at);
        check_row_there("attention.grad", {dy, q, k, v, fourth}, at, 4);
      }
    }
  }
}

TEST_CASE("batch norms on a device are the CPU's") {
  const StrictDevice device;
  Dice dice(9);
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{200, 33}, Shape{2, 1}, Shape{3, 1100}}) {
    const Index n = shape.back();
    const Tensor x = normals(dice, shape), dy = normals(dice, shape), gamma = normals(dice, {n}),
                 beta = normals(dice, {n}), mean = normals(dice, {n}),
                 variance = apply("mul", {gamma, gamma});
    for (const bool relu : {false, true}) {
      const Attributes at = Attributes().set("relu", Index{relu}).set("eps", 1e-4);
      check_row_there("batch-norm-train", {x, gamma, beta}, at);
      check_row_there("batch-norm-train.grad", {dy, x, gamma, beta}, at, 3);
      check_row_there("batch-norm", {x, gamma, beta, mean, variance}, at);
      check_row_there("batch-norm.grad", {dy, x, gamma, beta, mean, variance}, at, 5);
    }
    check_row_there("batch-moments", {x}, Attributes().set("sample", Index{1}));
    check_row_there("batch-moments", {x}, {});
  }
}

TEST_CASE("pools on a device are the CPU's") {
  const StrictDevice device;
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
    // With equals.
    const Tensor x =
        apply("round", {apply("scale", {normals(dice, shape)}, Attributes().set("by", 2.0))});
    const Tensor dy = normals(dice, apply(op, {x}, at).shape());
    check_row_there(op, {x}, at);
    check_row_there(op + ".grad", is_max ? std::vector<Tensor>{dy, x} : std::vector<Tensor>{dy}, at,
                    1, {shape});
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

TEST_CASE("a tape of embeddings, a layer norm, attention and a loss stays on a device") {
  const StrictDevice device;
  Dice dice(11);
  const Index batch = 3, tokens = 6, width = 8;
  const Tensor ids = random_numbers(dice, {batch, tokens}, 0, 9),
               seen = random_numbers(dice, {batch, tokens}, 0, 2),
               targets = random_numbers(dice, {batch, tokens}, 0, width);
  const std::vector<Tensor> weights{normals(dice, {9, width}), normals(dice, {9, width}),
                                    normals(dice, {9, width}), normals(dice, {width}),
                                    normals(dice, {width})};
  // The loss, and the gradients of the weights.
  const auto run_on = [&](Device where) {
    Tape tape;
    std::vector<Var> w;
    for (const Tensor& x : weights) w.push_back(tape.parameter(x.to(where)));
    const Var rows = ids.to(where);
    const Var q = layer_norm(embedding(w[0], rows), w[3], w[4], 1e-5);
    const Var y = attention(q, embedding(w[1], rows), embedding(w[2], rows), seen.to(where), 2);
    const Var loss = cross_entropy(y, targets.to(where));
    tape.backward(loss, one_float(1).to(where));
    std::vector<Tensor> all{loss.value()};
    for (const Var& v : w) all.push_back(*v.grad());
    return all;
  };
  const std::vector<Tensor> here = run_on(Device::cpu), there = run_on(Device::cuda);
  for (std::size_t i = 0; i < here.size(); ++i) check_as_here(there[i], here[i], 0.1);
}

TEST_CASE("convolutions on a device are the CPU's, and so are their gradients") {
  const StrictDevice device;
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
      check_row_there(op, {x, w}, c.at);
      const Tensor dy = normals(dice, apply(op, {x, w}, c.at).shape());
      check_row_there(op, {x, w, b}, c.at);
      check_row_there(op + ".grad", {dy, x, w}, c.at, 2);
      check_row_there(op + ".grad", {dy, x, w, b}, c.at, 3);
    }
}

TEST_CASE("a convolution's masked weight on a device has a gradient at its positions") {
  const StrictDevice device;
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
  const std::vector<Tensor> here = run_on(Device::cpu), there = run_on(Device::cuda);
  CHECK(there[1].layout() == "masked");
  CHECK(same_mask(there[1].to(Device::cpu).stored(), w.stored()));
  for (const int i : {0, 1}) check_as_here(there[i], here[i]);
}

TEST_CASE("what a device does not have of these operators falls back and says so") {
  const SerialDevice device;
  const Warnings warnings;
  Dice dice(8);
  Dense x = Dense::zeros(DType::F64, {2, 3});
  const Tensor y = apply("softmax", {Tensor(x).to(Device::cuda)});
  CHECK(y.device() == Device::cuda);
  CHECK(y.dtype() == DType::F64);
  REQUIRE(warnings.all.size() == 1);
  CHECK(has(warnings.all[0], "softmax on a device is of F32, not of F64"));
}
