// SPDX-License-Identifier: Apache-2.0
// Row-wise operators on a device: softmax, layer norm, embedding, losses.
#include "tests/device/row_checks.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("softmax, log-softmax and their gradients on a device match the CPU's along any axis") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(1);
  for (const Shape& shape : {Shape{5, 7}, Shape{1}, Shape{2, 3, 4}, Shape{3, 1100}, Shape{0, 3}})
    for (Index axis = 0; axis < std::ssize(shape); ++axis)
      for (const char* op : {"softmax", "log-softmax"}) {
        const Attributes at = Attributes().set("axis", axis);
        const Tensor x = normals(dice, shape), dy = normals(dice, shape);
        check_row_on_device(op, {x}, at);
        check_row_on_device(std::string(op) + ".grad", {dy, apply(op, {x}, at)}, at);
      }
}

TEST_CASE("layer norms and their gradients on a device match the CPU's") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(2);
  for (const Shape& shape :
       {Shape{3, 5, 7}, Shape{5}, Shape{150, 33}, Shape{2, 1500}, Shape{0, 4}}) {
    const Index n = shape.back();
    const Tensor x = normals(dice, shape), dy = normals(dice, shape), gamma = normals(dice, {n}),
                 beta = normals(dice, {n});
    const Attributes at = Attributes().set("eps", 1e-4);
    check_row_on_device("layer-norm", {x, gamma, beta}, at);
    check_row_on_device("layer-norm.grad", {dy, x, gamma, beta}, at, 3);
  }
}

TEST_CASE("RMS norms and their gradients on a device match the CPU's") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(12);
  for (const Shape& shape :
       {Shape{3, 5, 7}, Shape{5}, Shape{300, 33}, Shape{2, 1500}, Shape{2, 3, 24}, Shape{0, 4}})
    for (const Index offset : {0, 1}) {
      const Index n = shape.back() % 24 == 0 ? 8 : shape.back();
      const Tensor x = normals(dice, shape), dy = normals(dice, shape), w = normals(dice, {n});
      const Attributes at = Attributes().set("eps", 1e-4).set("unit_offset", offset);
      check_row_on_device("rms-norm", {x, w}, at);
      check_row_on_device("rms-norm.grad", {dy, x, w}, at, 2);
    }
}

TEST_CASE("embedding, gather and their gradients on a device match the CPU's") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(3);
  for (const Shape& ids : {Shape{3, 4}, Shape{200}, Shape{}, Shape{0}}) {
    const Tensor table = normals(dice, {9, 40}), rows = random_numbers(dice, ids, 0, 9);
    Shape shape = ids;
    shape.push_back(40);
    check_row_on_device("embedding", {table, rows}, {});
    check_row_on_device("embedding.grad", {normals(dice, shape), table, rows}, {}, 2);
    const Tensor x = normals(dice, {3, 5, 2}), places = random_numbers(dice, ids, -5, 5);
    Shape picked{3};
    picked.insert(picked.end(), ids.begin(), ids.end());
    picked.push_back(2);
    const Attributes at = Attributes().set("axis", Index{1});
    check_row_on_device("gather", {x, places}, at);
    check_row_on_device("gather.grad", {normals(dice, picked), x, places}, at, 2);
  }
}

TEST_CASE("gather on a device supports integer elements") {
  const SerialDevice device;
  const Strict strict;
  const Tensor table = numbers_of({3, 2}, {1, 2, 3, 4, 5, 6}), rows = numbers_of({2}, {-1, 0});
  const Tensor on_device = apply("gather", {table.to(Device::cuda), rows.to(Device::cuda)});
  const Tensor back = on_device.to(Device::cpu);
  const auto v = back.as<Dense>().values.as<std::int64_t>();
  CHECK(std::vector<Index>(v.begin(), v.end()) == std::vector<Index>{5, 6, 1, 2});
}

TEST_CASE("an embedding's gradient accumulates into an existing sum on a device") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(4);
  const Tensor table = normals(dice, {6, 5}), rows = numbers_of({4}, {1, 5, 1, 0}),
               dy = normals(dice, {4, 5}), before = normals(dice, {6, 5});
  const auto summed = [&](bool on_device) {
    const std::vector<Tensor> in{dy, table, rows};
    std::optional<Tensor> sum = on_device ? before.to(Device::cuda) : before;
    OutHints hints[2];
    hints[0].sum = &sum;
    Outputs out =
        run_outputs("embedding.grad", on_device ? all_on_device(in) : in, {}, 2, {}, hints);
    CHECK(!sum);
    return *out[0];
  };
  check_as_here(summed(true), summed(false));
}

TEST_CASE("gradients of norms accumulate into an existing sum on a device") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(6);
  const Tensor x = normals(dice, {5, 7}), dy = normals(dice, {5, 7}),
               before = normals(dice, {5, 7}), gamma = normals(dice, {7}),
               beta = normals(dice, {7});
  const auto check = [&](Name op, const std::vector<Tensor>& in) {
    const std::size_t outputs = in.size() - 1;
    const Outputs plain = run_outputs(op, in, {}, outputs);
    std::optional<Tensor> sum = before.to(Device::cuda);
    OutHints hints[3];
    hints[0].sum = &sum;
    const Outputs got =
        run_outputs(op, all_on_device(in), {}, outputs, {}, std::span(hints, outputs));
    CHECK(!sum);
    check_as_here(*got[0], apply("add", {before, *plain[0]}));
    for (std::size_t i = 1; i < outputs; ++i) check_as_here(*got[i], *plain[i]);
  };
  check("layer-norm.grad", {dy, x, gamma, beta});
  check("rms-norm.grad", {dy, x, gamma});
}

TEST_CASE("an index out of range on a device is reported by the next copy to the CPU") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(5);
  const Tensor table = normals(dice, {5, 2}), ids = numbers_of({2, 2}, {4, 0, 5, 1});
  const Tensor logits = normals(dice, {2, 3}), targets = numbers_of({2}, {-100, 3});
  const auto error_on_device = [](const char* op, const Tensor& x, const Tensor& numbers) {
    const Tensor y = apply(op, {x.to(Device::cuda), numbers.to(Device::cuda)});
    const std::string error = error_of([&] { y.to(Device::cpu); });
    CHECK(error == error_of([&] { apply(op, {x, numbers}); }));
    // It is reported once, and the row of the invalid id is NaN.
    const std::vector<float> v = floats(y.to(Device::cpu).to_dense());
    CHECK(std::ranges::any_of(v, [](float f) { return std::isnan(f); }));
    return error;
  };
  for (int again = 0; again < 2; ++again) {
    CHECK(error_on_device("embedding", table, ids) ==
          "embedding: ids[1, 0] is 5, but the table is [5, 2]");
    CHECK(error_on_device("gather", table, ids) == "gather: ids[1, 0] is 5, but x is [5, 2]");
    CHECK(error_on_device("cross-entropy", logits, targets) ==
          "cross-entropy: targets[1] must be in [0, 3), got 3");
  }
  // The same tensor in another operator, with valid ids before and after.
  const Tensor on_device = ids.to(Device::cuda), good = numbers_of({1}, {0}).to(Device::cuda);
  const Tensor y = apply("embedding", {table.to(Device::cuda), good});
  const Tensor larger = normals(dice, {6, 2}).to(Device::cuda);
  apply("embedding", {larger, on_device});
  CHECK(error_of([&] { y.to(Device::cpu); }) == "");
  apply("embedding", {table.to(Device::cuda), on_device});
  apply("embedding", {larger, on_device});
  CHECK(error_of([&] { y.to(Device::cpu); }) != "");
  for (int i = 0; i < 300; ++i) apply("embedding", {larger, ids.to(Device::cuda)});
  CHECK(error_of([&] { y.to(Device::cpu); }) == "");
}

TEST_CASE("cross entropy, KL divergence, MSE and their gradients on a device match the CPU's") {
  const SerialDevice device;
  const Strict strict;
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
        check_row_on_device("cross-entropy", {x, targets}, at);
        check_row_on_device("cross-entropy.grad", {dy, x, targets}, at, 2);
      }
      const Attributes at = Attributes().set("ignore", Index{-1}).set("temperature", 2.0);
      check_row_on_device("kl-divergence", {x, w, targets}, at);
      check_row_on_device("kl-divergence.grad", {dy, x, w, targets}, at, 3);
      if (x.as<Dense>().size() == 0) continue;
      check_row_on_device("mse", {x, w}, {});
      check_row_on_device("mse.grad", {dy, x, w}, {}, 2);
    }
  const Tensor ignored = numbers_of({2}, {-100, -100}), x = normals(dice, {2, 3});
  check_row_on_device("cross-entropy", {x, ignored}, {});
  check_row_on_device("cross-entropy.grad", {one_float(1), x, ignored}, {}, 2);
}

TEST_CASE("unsupported row operators on a device fall back to the CPU with a warning") {
  const SerialDevice device;
  const Warnings warnings;
  Dice dice(8);
  Dense x = Dense::zeros(DType::F64, {2, 3});
  const Tensor y = apply("softmax", {Tensor(x).to(Device::cuda)});
  CHECK(y.device() == Device::cuda);
  CHECK(y.dtype() == DType::F64);
  REQUIRE(warnings.all.size() == 1);
  CHECK(has(warnings.all[0], "softmax on a device supports F32, got F64"));
}
