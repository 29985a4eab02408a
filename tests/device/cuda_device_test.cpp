// On a device that is there. Small enough for a checker of memory and races.
#include <doctest/doctest.h>

#include "libsten/dispatch/operators.h"
#include "libsten/run/measure.h"
#include "tests/device/serial_backend.h"
#include "tests/support/laws.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

void check_prune(const Dense& x, const char* sparsifier, const char* layout) {
  CAPTURE(sparsifier);
  const Spec s = Spec::parse(sparsifier), l = Spec::parse(layout);
  Mask kept, kept_there;
  const Tensor here = registry().prune(x, s, l, {}, &kept);
  const Tensor there = registry().prune(x.to(Device::cuda), s, l, {}, &kept_there);
  CHECK(there.device() == Device::cuda);
  CHECK(same_parts(there.to(Device::cpu).save(), here.save()));
  CHECK(same_mask(kept_there.to(Device::cpu), kept));
  CHECK(same_bits(there.to_dense().to(Device::cpu), here.to_dense()));
  const KeptMeasure m = measure_kept(x, kept),
                    m_there = measure_kept(x.to(Device::cuda), kept_there);
  CHECK(m.magnitudes.kept == m_there.magnitudes.kept);
  CHECK(m.zeros == m_there.zeros);
}

}  // namespace

TEST_CASE("a CUDA device does what its stand-in does" * cuda_only()) {
  const Warnings warnings;
  Dice dice(1);
  for (const Shape& shape : {Shape{64, 96}, Shape{37, 101}}) {
    const Dense x = normals(dice, shape);
    check_prune(x, "magnitude:sparsity=0.9", "bitmask");
    check_prune(x, "magnitude:sparsity=0.5", "masked");
    check_prune(x, "per-block:n=2,m=4", "nm:n=2,m=4");
    check_prune(x, "per-block:n=3,m=7,axis=0", "nm:n=3,m=7,axis=0");
    for (const char* numbers : {"n=1,m=4,g=4", "n=2,m=4,g=2", "n=1,m=10,g=4,axis=1"}) {
      const std::string spec = fmt::format("nmg:{}", numbers);
      check_prune(x, spec.c_str(), spec.c_str());
      check_prune(x, (spec + ",fit=swaps").c_str(), spec.c_str());
    }
  }
  const Dense a = normals(dice, {40, 64}), b = normals(dice, {64, 33});
  const auto product = [&](const Tensor& left) {
    const Tensor here = apply("matmul", {left, b});
    const Tensor there =
        apply("matmul", {left.to(Device::cuda), Tensor(b).to(Device::cuda)}).to(Device::cpu);
    const auto &p = here.as<Dense>(), &q = there.as<Dense>();
    for (Index i = 0; i < p.size(); ++i)
      CHECK(std::abs(p.values.as<float>()[i] - q.values.as<float>()[i]) <= 1e-3);
  };
  product(a);
  for (const char* spec : {"nmg:n=1,m=4,g=4", "nmg:n=2,m=4,g=2", "nmg:n=1,m=10,g=1"})
    product(registry().prune(a, Spec::parse(spec), Spec::parse(spec)));
  product(registry().prune(a, Spec::parse("magnitude:sparsity=0.8"), Spec("csr")));
  for (const std::string& w : warnings.all) MESSAGE(w);
}
