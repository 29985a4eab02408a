// SPDX-License-Identifier: Apache-2.0
// Optimizer steps on a device: bitwise the CPU's results, without a copy of the weight.
#include <doctest/doctest.h>

#include <bit>

#include "kernels/isa.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/registry/registry.h"
#include "libsten/training/optim/gradients.h"
#include "libsten/training/optim/select.h"
#include "tests/device/serial_backend.h"
#include "tests/optim/reference.h"
#include "tests/support/laws.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

Parameter moved(const Parameter& p, Device device) {
  Parameter to(p.name, p.value.to(device));
  for (const auto& [key, s] : p.state) to.state.emplace(key, key == "step" ? s : s.to(device));
  return to;
}

void check_same_parameter(const Parameter& device_copy, const Parameter& here) {
  const Parameter back = moved(device_copy, Device::cpu);
  CHECK(same_parts(back.value.save(), here.value.save()));
  REQUIRE(back.state.size() == here.state.size());
  for (const auto& state : here.state) {
    CAPTURE(state.first);
    CHECK(same_parts(back.state.at(state.first).save(), state.second.save()));
  }
}

struct Case {
  const char *by, *layout;
};
const std::vector<Case> cases{{"magnitude:sparsity=0.8", "masked"},
                              {"nm:n=2,m=4", "masked"},
                              {"nmg:n=1,m=4,g=4", "masked"},
                              {"nmg:n=1,m=4,g=4", "nmg:n=1,m=4,g=4"},
                              {"nmg:n=2,m=4,g=2", "nmg:n=2,m=4,g=2"}};
constexpr Index rows = 40, cols = 52;

// Whether the CPU fuses multiply-adds as a device does; otherwise, bits differ.
bool has_fused_tables() { return kernels::float32_isa() >= kernels::Isa::avx2; }

template <class Optimizer>
void check_steps(const Optimizer& o) {
  Dice dice(3);
  for (const Case& c : cases) {
    CAPTURE(c.by);
    CAPTURE(c.layout);
    const Sparsifier by = registry().sparsifier(Spec::parse(c.by));
    const Spec layout = Spec::parse(c.layout);
    Parameter here("w", registry().prune(normals(dice, {rows, cols}), by, layout));
    Parameter device_copy = moved(here, Device::cuda);
    const auto step = [&](const Tensor& g, const Update& u) {
      o.step(here, g, u);
      o.step(device_copy, g.to(Device::cuda), u);
      CHECK(device_copy.value.device() == Device::cuda);
      check_same_parameter(device_copy, here);
    };
    for (int round = 0; round < 2; ++round) {
      const Dense g = normals(dice, {rows, cols});
      // A gradient at the weight's positions, a dense one, and a dense one that changes the
      // positions.
      step(here.value.with_values(
               random_reals(dice, DType::F32, {here.value.values()->size()}).values),
           Update().scale_gradient(0.5));
      if (layout.is("masked")) step(g, {});
      step(g, Update::resparsify(by));
    }
  }
}

}  // namespace

TEST_CASE("optimizer steps and mask refreshes on a device are bit-identical to the CPU's") {
  if (!has_fused_tables()) return;
  const SerialDevice device;
  const Strict strict;
  check_steps(AdamW({.rate = 0.01, .weight_decay = 0.1}));
  check_steps(Sgd({.rate = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01}));
  check_steps(Sgd({.rate = 0.1}));
}

TEST_CASE("optimizer steps and mask refreshes on a device copy nothing back" * stand_in_only()) {
  const SerialDevice device;
  const Strict strict;
  Dice dice(4);
  for (const Case& c : cases) {
    CAPTURE(c.layout);
    const Sparsifier by = registry().sparsifier(Spec::parse(c.by));
    const Tensor w = registry().prune(normals(dice, {rows, cols}), by, Spec::parse(c.layout));
    Parameter p("w", w.to(Device::cuda));
    const Tensor g = Tensor(normals(dice, {rows, cols})).to(Device::cuda);
    const AdamW adam;
    adam.step(p, g, Update::resparsify(by));
    const std::size_t before = SerialDevice::downloads();
    const GradientOf all[] = {{&g, &p.value}};
    const DeviceNorm norm = norm_on_device(all, 1);
    adam.step(p, p.value, Update().scale_gradient(norm.scale));
    adam.step(p, g, Update::resparsify(by).scale_gradient(norm.scale));
    CHECK(SerialDevice::downloads() == before);
  }
}

TEST_CASE("gradient norms and clipping scales on a device are identical to the CPU's") {
  const SerialDevice device;
  Dice dice(5);
  const Tensor g = normals(dice, {300, 257}), dense = normals(dice, {300, 257}),
               small = normals(dice, {3}), none = Dense::zeros(DType::F32, {0});
  const Tensor masked =
      registry().prune(dense.as<Dense>(), Spec::parse("magnitude:sparsity=0.7"), Spec("masked"));
  const std::vector<std::pair<Tensor, Tensor>> all{
      {g, dense}, {g, masked}, {none, none}, {small, small}};
  double squares = 0;
  std::vector<std::pair<Tensor, Tensor>> moved;
  for (const auto& [x, w] : all) {
    squares += squared_norm(x, w);
    moved.emplace_back(x.to(Device::cuda), w.to(Device::cuda));
    CHECK(squared_norm(moved.back().first, moved.back().second) == squared_norm(x, w));
  }
  std::vector<GradientOf> device_copy;
  for (const auto& [x, w] : moved) device_copy.push_back({&x, &w});
  for (const double clip : {1.0, 1e9}) {
    const DeviceNorm made = norm_on_device(device_copy, clip);
    const double norm = made.norm.to(Device::cpu)[0];
    CHECK(norm == std::sqrt(squares));
    CHECK(made.scale.to(Device::cpu)[0] == static_cast<float>(std::min(1.0, clip / (norm + 1e-6))));
  }
  CHECK(norm_on_device({}, 1).norm.to(Device::cpu)[0] == 0);
}

TEST_CASE("unsupported optimizer steps on a device run on the CPU with a warning") {
  const SerialDevice device;
  const Warnings warnings;
  Dice dice(6);
  // F64, and a weight whose gradient has other positions.
  Parameter here("w", random_reals(dice, DType::F64, {8, 8})),
      device_copy = moved(here, Device::cuda);
  const Tensor g = random_reals(dice, DType::F64, {8, 8});
  const AdamW adam({.rate = 0.1});
  for (int i = 0; i < 2; ++i) {
    adam.step(here, g);
    adam.step(device_copy, g.to(Device::cuda));
  }
  check_same_parameter(device_copy, here);
  REQUIRE(!warnings.all.empty());
  CHECK(warnings.all[0] == "adamw of F64 on cuda: not implemented; on the CPU");
  CHECK(has(error_of([&] { adam.step(device_copy, g); }), "on cuda"));
  // The device has to find the positions of an n:m:g weight.
  const Sparsifier by = registry().sparsifier(Spec::parse("nmg:n=1,m=4,g=4"));
  Parameter q("q", registry().prune(normals(dice, {24, 32}), by, Spec::parse("nmg:n=1,m=4,g=4")));
  Parameter q_on_device = moved(q, Device::cuda);
  const Tensor dense = normals(dice, {24, 32});
  const Sgd sgd({.rate = 0.1, .momentum = 0.9});
  sgd.step(q, dense);
  sgd.step(q_on_device, dense.to(Device::cuda));
  check_same_parameter(q_on_device, q);
  // A sparsifier that only the CPU implements.
  const Sparsifier blocks =
      registry().sparsifier(Spec::parse("block-magnitude:sparsity=0.5,h=4,w=4"));
  select_positions(q, blocks, Spec("masked"));
  select_positions(q_on_device, blocks, Spec("masked"));
  check_same_parameter(q_on_device, q);
}

namespace {

// Parameters of many layouts, some without elements, with gradients; more than one launch can take.
struct Many {
  std::vector<Parameter> here, device_copy;
  std::vector<Tensor> gradients, gradients_on_device;

  explicit Many(Dice& dice) {
    for (int i = 0; i < 60; ++i) {
      const Shape shape = i % 20 == 3 ? Shape{0, 5} : Shape{8 * (1 + i % 3), 12};
      const Case& c = cases[static_cast<std::size_t>(i) % cases.size()];
      const Dense x = normals(dice, shape);
      const bool is_dense = i % 2 == 0 || size_of(shape) == 0;
      add(is_dense ? Tensor(x) : registry().prune(x, Spec::parse(c.by), Spec::parse(c.layout)),
          normals(dice, shape));
    }
    add(normals(dice, {200, 129}), normals(dice, {200, 129}));
  }
  void add(const Tensor& w, const Tensor& g) {
    here.emplace_back(std::to_string(here.size()), w);
    device_copy.push_back(moved(here.back(), Device::cuda));
    gradients.push_back(g);
    gradients_on_device.push_back(g.to(Device::cuda));
  }
  std::vector<ParameterStep> steps(bool on_device, const std::vector<const Update*>& updates) {
    std::vector<ParameterStep> all;
    for (std::size_t i = 0; i < here.size(); ++i)
      all.push_back({&(on_device ? device_copy : here)[i],
                     &(on_device ? gradients_on_device : gradients)[i],
                     updates[i % updates.size()]});
    return all;
  }
  void check_same() const {
    for (std::size_t i = 0; i < here.size(); ++i) {
      CAPTURE(i);
      check_same_parameter(device_copy[i], here[i]);
    }
  }
};

template <class Optimizer>
void check_steps_at_once(Optimizer o) {
  Dice dice(8);
  Many all(dice);
  const Array<float> scale_on_device = Array<float>{0.3F}.to(Device::cuda);
  const Update plain, scaled = Update().scale_gradient(0.7),
                      clipped_here = Update().scale_gradient(double{0.3F}),
                      clipped_on_device = Update().scale_gradient(scale_on_device);
  for (int round = 0; round < 3; ++round) {
    o.options.rate *= 0.9;
    // Some parameters have made more steps than others.
    if (round == 1) {
      o.step(all.here[0], all.gradients[0]);
      o.step(all.device_copy[0], all.gradients_on_device[0]);
    }
    for (const ParameterStep& s : all.steps(false, {&plain, &scaled, &clipped_here}))
      o.step(*s.parameter, *s.gradient, *s.update);
    o.step(all.steps(true, {&plain, &scaled, &clipped_on_device}));
    all.check_same();
  }
}

}  // namespace

TEST_CASE("batched optimizer steps on a device are bit-identical to the CPU's") {
  if (!has_fused_tables()) return;
  const SerialDevice device;
  check_steps_at_once(AdamW({.rate = 0.01, .weight_decay = 0.1}));
  check_steps_at_once(Sgd({.rate = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01}));
  check_steps_at_once(Sgd({.rate = 0.1}));
}

TEST_CASE("batched steps with resparsified or F64 weights on a device match the CPU's") {
  if (!has_fused_tables()) return;
  const SerialDevice device;
  const Warnings warnings;
  Dice dice(9);
  Many all(dice);
  all.add(random_reals(dice, DType::F64, {4, 8}), random_reals(dice, DType::F64, {4, 8}));
  const Sparsifier by = registry().sparsifier(Spec::parse("nmg:n=1,m=4,g=2"));
  const Update plain, reselect = Update::resparsify(by);
  const AdamW adam({.rate = 0.1});
  for (int round = 0; round < 2; ++round) {
    for (const bool on_device : {false, true}) {
      std::vector<ParameterStep> steps = all.steps(on_device, {&plain});
      for (const std::size_t i : {1u, 11u, 31u}) {
        REQUIRE(steps[i].parameter->value.is<Masked>());
        steps[i].update = &reselect;
      }
      adam.step(steps);
    }
    all.check_same();
  }
}

TEST_CASE("batched steps apply the steps before a rejected one") {
  if (!has_fused_tables()) return;
  const SerialDevice device;
  Dice dice(10);
  Many all(dice);
  const Update plain;
  const Sgd sgd({.rate = 0.1, .momentum = 0.9});
  const auto refused = [&](bool on_device) {
    std::vector<ParameterStep> steps = all.steps(on_device, {&plain});
    steps[50].gradient = steps[60].gradient;  // of another shape
    return error_of([&] { sgd.step(steps); });
  };
  CHECK(has(refused(false), "but the gradient is [200, 129]"));
  CHECK(refused(true) == refused(false));
  for (std::size_t i = 0; i < 50; ++i) sgd.step(all.device_copy[i], all.gradients_on_device[i]);
  all.check_same();
}

TEST_CASE("batched sums of gradients on a device are bit-identical to the CPU's") {
  const SerialDevice device;
  Dice dice(11);
  std::vector<Tensor> here, device_copy, more;
  for (int i = 0; i < 300; ++i) {
    const Case& c = cases[static_cast<std::size_t>(i) % cases.size()];
    const Shape shape = i == 7   ? Shape{0, 3}
                        : i == 9 ? Shape{300, 300}
                                 : Shape{8, 1 + dice.below(9)};
    const Dense x = normals(dice, shape);
    const bool is_dense = i % 3 == 0 || i == 7 || i == 9;
    here.push_back(is_dense ? Tensor(x)
                            : registry().prune(x, Spec::parse(c.by), Spec::parse(c.layout)));
    more.push_back(here.back().with_values(
        random_reals(dice, DType::F32, {here.back().values()->size()}).values));
    device_copy.push_back(here.back().to(Device::cuda));
  }
  const Tensor held = device_copy[3];
  GradientSums sums;
  for (std::size_t i = 0; i < here.size(); ++i) {
    sums.add(device_copy[i], more[i].to(Device::cuda));
    add_gradient(here[i], more[i]);
  }
  CHECK(error_of([&] { sums.add(device_copy[0], more[0]); }).find("on cuda") != std::string::npos);
  sums.finish();
  for (std::size_t i = 0; i < here.size(); ++i) {
    CAPTURE(i);
    CHECK(same_parts(device_copy[i].to(Device::cpu).save(), here[i].save()));
  }
  CHECK(held.values()->bytes().data() != device_copy[3].values()->bytes().data());
}
