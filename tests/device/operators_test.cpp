// SPDX-License-Identifier: Apache-2.0
// Dispatch of operators on tensors on a device.
#include <doctest/doctest.h>

#include "libsten/core/dispatch/operators.h"
#include "tests/device/row_checks.h"
#include "tests/device/serial_backend.h"
#include "tests/support/laws.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("an operator without a device implementation runs on the CPU with one warning") {
  const SerialDevice device;
  const Warnings warnings;
  Dice dice(1);
  const Tensor x = normals(dice, {8, 12});
  const Attributes size = Attributes().set("size", Index{5});
  for (int i = 0; i < 2; ++i) {
    const Tensor on_device = apply("lrn", {x.to(Device::cuda)}, size);
    CHECK(on_device.device() == Device::cuda);
    CHECK(same_parts(on_device.to(Device::cpu).save(), apply("lrn", {x}, size).save()));
  }
  REQUIRE(warnings.all.size() == 1);
  CHECK(warnings.all[0] ==
        "lrn(dense) -> keep-all/dense on cuda: no implementation; on the CPU, "
        "lrn(dense) -> keep-all/dense: exact");
  set_strict(true);
  CHECK(fault_of([&] { apply("lrn", {x.to(Device::cuda)}, size); }) == Fault::check);
  CHECK(fault_of([&] { apply("lrn", {x}, size); }) == std::nullopt);
  set_strict(false);
}

TEST_CASE("inputs on two devices are rejected") {
  const SerialDevice device;
  Dice dice(2);
  const Tensor x = normals(dice, {8, 8});
  CHECK(error_of([&] {
          apply("add", {x, x.to(Device::cuda)});
        }) == "add: inputs are on cpu and on cuda (move all inputs to one device)");
}

TEST_CASE("products of dense, n:m:g, csr and n:m with dense on a device match the CPU's") {
  const SerialDevice device;
  const Warnings warnings;
  Dice dice(3);
  for (const Shape& shape : {Shape{40, 64, 33}, Shape{37, 101, 8}, Shape{16, 16, 1}}) {
    const Dense a = normals(dice, {shape[0], shape[1]}), b = normals(dice, {shape[1], shape[2]});
    std::vector<Tensor> factors{a};
    for (const char* spec : {"nmg:n=1,m=4,g=4", "nmg:n=2,m=4,g=2", "nmg:n=1,m=10,g=1"})
      factors.push_back(registry().prune(a, Spec::parse(spec), Spec::parse(spec)));
    factors.push_back(registry().prune(a, Spec::parse("magnitude:sparsity=0.8"), Spec("csr")));
    factors.push_back(registry().prune(a, Spec::parse("nm:n=2,m=4"), Spec::parse("nm:n=2,m=4")));
    for (const Tensor& left : factors) {
      CAPTURE(left.spec().str());
      const Tensor here = apply("matmul", {left, b});
      for (int again = 0; again < 2; ++again) {
        const Tensor on_device =
            apply("matmul", {left.to(Device::cuda), Tensor(b).to(Device::cuda)});
        CHECK(on_device.device() == Device::cuda);
        const Tensor back = on_device.to(Device::cpu);
        const auto p = here.as<Dense>().values.as<float>(), q = back.as<Dense>().values.as<float>();
        REQUIRE(p.size() == q.size());
        for (std::size_t i = 0; i < p.size(); ++i) CHECK(std::abs(p[i] - q[i]) <= 1e-4);
      }
    }
  }
}

TEST_CASE("low-rank adapters on a device match the CPU's without a fallback") {
  const SerialDevice device;
  const Strict strict;  // an operator on the CPU would be an error
  Dice dice(4);
  const Dense x = normals(dice, {12, 20}), a = normals(dice, {3, 20}), b = normals(dice, {12, 3}),
              dy = normals(dice, {12, 20});
  const Attributes half = Attributes().set("scale", 0.5);
  for (const char* layout : {"dense", "masked"}) {
    const Tensor w = registry().prune(x, Spec::parse("nm:n=2,m=4"), Spec(layout));
    check_row_on_device("lora", {w, a, b}, half);
    check_row_on_device("lora.grad", {dy, w, a, b}, half, 3);
  }
}
