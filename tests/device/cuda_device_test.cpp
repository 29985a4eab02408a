// SPDX-License-Identifier: Apache-2.0
// Tests on a real CUDA device, small enough for a memory or race checker.
#include <doctest/doctest.h>

#include "libsten/core/dispatch/operators.h"
#include "libsten/programs/measure/measure.h"
#include "tests/device/serial_backend.h"
#include "tests/support/laws.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

void check_prune(const Dense& x, const char* sparsifier, const char* layout) {
  CAPTURE(sparsifier);
  const Spec s = Spec::parse(sparsifier), l = Spec::parse(layout);
  Mask kept, kept_on_device;
  const Tensor here = registry().prune(x, s, l, {}, &kept);
  const Tensor on_device = registry().prune(x.to(Device::cuda), s, l, {}, &kept_on_device);
  CHECK(on_device.device() == Device::cuda);
  CHECK(same_parts(on_device.to(Device::cpu).save(), here.save()));
  CHECK(same_mask(kept_on_device.to(Device::cpu), kept));
  CHECK(same_bits(on_device.to_dense().to(Device::cpu), here.to_dense()));
  const KeptMeasure m = measure_kept(x, kept),
                    m_on_device = measure_kept(x.to(Device::cuda), kept_on_device);
  CHECK(m.magnitudes.kept == m_on_device.magnitudes.kept);
  CHECK(m.zeros == m_on_device.zeros);
}

}  // namespace

TEST_CASE("pruning, conversion and products on a CUDA device match the CPU's" * cuda_only()) {
  const Warnings warnings;
  Dice dice(1);
  for (const Shape& shape : {Shape{64, 96}, Shape{37, 101}}) {
    const Dense x = normals(dice, shape);
    check_prune(x, "magnitude:sparsity=0.9", "bitmask");
    check_prune(x, "magnitude:sparsity=0.5", "masked");
    check_prune(x, "nm:n=2,m=4", "nm:n=2,m=4");
    check_prune(x, "nm:n=3,m=7,axis=0", "nm:n=3,m=7,axis=0");
    for (const char* numbers : {"n=1,m=4,g=4", "n=2,m=4,g=2", "n=1,m=10,g=4,axis=1"}) {
      const std::string spec = fmt::format("nmg:{}", numbers);
      check_prune(x, spec.c_str(), spec.c_str());
      check_prune(x, (spec + ",fit=swaps").c_str(), spec.c_str());
    }
  }
  const Dense a = normals(dice, {40, 64}), b = normals(dice, {64, 33});
  const auto product = [&](const Tensor& left) {
    const Tensor here = apply("matmul", {left, b});
    const Tensor on_device =
        apply("matmul", {left.to(Device::cuda), Tensor(b).to(Device::cuda)}).to(Device::cpu);
    const auto &p = here.as<Dense>(), &q = on_device.as<Dense>();
    for (Index i = 0; i < p.size(); ++i)
      CHECK(std::abs(p.values.as<float>()[i] - q.values.as<float>()[i]) <= 1e-3);
  };
  product(a);
  for (const char* spec : {"nmg:n=1,m=4,g=4", "nmg:n=2,m=4,g=2", "nmg:n=1,m=10,g=1"})
    product(registry().prune(a, Spec::parse(spec), Spec::parse(spec)));
  product(registry().prune(a, Spec::parse("magnitude:sparsity=0.8"), Spec("csr")));
  for (const std::string& w : warnings.all) MESSAGE(w);
}
