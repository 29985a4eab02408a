// SPDX-License-Identifier: Apache-2.0
// Recipes whose dense products round their factors on a device.
#include <doctest/doctest.h>

#include <algorithm>

#include "libsten/core/base/cuda.h"
#include "libsten/model/nn/weights.h"
#include "libsten/training/trainer/products.h"
#include "tests/device/serial_backend.h"
#include "tests/support/sanitized.h"
#include "tests/support/warnings.h"
#include "tests/trainer/small_runs.h"

using namespace sten;
using namespace sten::testing;
using kernels::Factors;

namespace {

// Records the rounding of each dense product on the device until the end of the scope.
class DeviceProductPrecision {
 public:
  DeviceProductPrecision() : backend_(cuda()) {
    seen().clear();
    device_gemm_of() = backend_.gemm.dense;
    backend_.gemm.dense = [](const kernels::GemmOperands& x, kernels::Stream stream) {
      seen().push_back(x.factors);
      device_gemm_of()(x, stream);
    };
    kernels::cuda::set_backend(&backend_);
  }
  DeviceProductPrecision(const DeviceProductPrecision&) = delete;
  DeviceProductPrecision& operator=(const DeviceProductPrecision&) = delete;

  // The products since the last call.
  static std::vector<Factors> take() { return std::exchange(seen(), {}); }

 private:
  static std::vector<Factors>& seen() {
    static std::vector<Factors> all;
    return all;
  }
  static void (*&device_gemm_of())(const kernels::GemmOperands&, kernels::Stream) {
    static void (*f)(const kernels::GemmOperands&, kernels::Stream) = nullptr;
    return f;
  }
  kernels::cuda::Backend backend_;
};

std::unique_ptr<Trainer> trainer_on_device(Recipe r, const std::string& products,
                                           Device device = Device::cuda) {
  r.device_products = products;
  return std::make_unique<Trainer>(std::make_shared<const Task>(r), nullptr,
                                   TrainerOptions{device, 1});
}

std::vector<double> losses_of(Trainer& t) {
  std::vector<double> all;
  while (!t.is_done()) all.push_back(t.step().loss);
  return all;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

}  // namespace

TEST_CASE("device_products sets the precision of forward and backward products only") {
  const SerialDevice device;
  const DeviceProductPrecision precision;
  const Warnings warnings;
  const TempDir dir;
  const auto only = [](Factors wanted) { return [wanted](Factors f) { return f == wanted; }; };
  Recipe taught = small_mlp(dir);
  taught.distillation.emplace();
  taught.distillation->teacher = dir / "teacher.safetensors";
  const auto teacher = trainer_on_device(small_mlp(dir), "", Device::cpu);
  save_weights(teacher->task().graph(), teacher->weights(), taught.distillation->teacher, true);
  Recipe made_dense = small_bert(dir);  // large products convert the weights to dense
  made_dense.sparsity = {sparse("bert.encoder.*.dense.weight", "nmg:n=1,m=4,g=4")};
  made_dense.sparsity[0].layout = Spec::parse("nmg:n=1,m=4,g=4");
  // The set of kernels does not depend on the precision.
  std::vector<std::string> names{"", "float32", "tf32", "bfloat16"};
  if (is_short()) names = {"tf32"};
  std::size_t of_bert = 0;
  for (const Recipe& r : {small_mlp(dir), small_bert(dir), taught, made_dense})
    for (const std::string& name : names) {
      CAPTURE(r.name);
      CAPTURE(name);
      const auto rounded = trainer_on_device(r, name);
      const Factors wanted = name.empty() ? Factors::float32 : factors_from(name).value();
      precision.take();
      rounded->step();
      const std::vector<Factors> of = precision.take();
      const std::size_t taught_by = r.distillation ? 3 : 0;  // the teacher's products come first
      // Each layer's product, and the gradients of w and, except for the first layer, of x.
      if (r.model.kind == "mlp") CHECK(of.size() == taught_by + 8);
      if (r.model.kind == "bert" && r.sparsity.empty()) of_bert = of.size();
      // Without the products of the six weights there would be 18 fewer.
      if (r.model.kind == "bert") CHECK(of.size() > of_bert - 18);
      REQUIRE(of.size() >= taught_by + 8);
      CHECK(std::all_of(of.begin(), of.begin() + taught_by, only(Factors::float32)));
      CHECK(std::all_of(of.begin() + taught_by, of.end(), only(wanted)));
      if (is_short()) continue;
      // A second trainer at the same time.
      trainer_on_device(r, "")->step();
      (void)rounded->task().measure(rounded->weights(), DataSplit::validation);
      CHECK(std::ranges::all_of(precision.take(), only(Factors::float32)));
    }
  CHECK(warnings.all.empty());
}

TEST_CASE("losses with tf32 and bfloat16 products are near those with float32") {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  std::vector<Recipe> all{small_mlp(dir)};
  if (is_short())
    all[0].steps = 2;
  else
    all.push_back(small_bert(dir));
  for (const Recipe& r : all) {
    CAPTURE(r.name);
    const auto of = [&](const char* name) { return losses_of(*trainer_on_device(r, name)); };
    const std::vector<double> exact = of("");
    CHECK(of("float32") == exact);
    const double tf32 = largest_difference(of("tf32"), exact);
    const double bfloat16 = largest_difference(of("bfloat16"), exact);
    CAPTURE(tf32);
    CAPTURE(bfloat16);
    CHECK(tf32 < 5e-3);
    CHECK(bfloat16 < 5e-2);
    if (SerialDevice::is_replaced()) continue;  // a library need not round
    CHECK(tf32 > 1e-6);
    CHECK(bfloat16 > tf32);
  }
}

TEST_CASE("device_products has no effect on the CPU except for a warning") {
  const TempDir dir;
  const Recipe r = small_mlp(dir);
  {
    const Warnings warnings;
    const std::vector<double> exact = losses_of(*trainer_on_device(r, "", Device::cpu));
    CHECK(losses_of(*trainer_on_device(r, "float32", Device::cpu)) == exact);
    CHECK(warnings.all.empty());
    CHECK(losses_of(*trainer_on_device(r, "bfloat16", Device::cpu)) == exact);
    REQUIRE(warnings.all.size() == 1);
    CHECK(has(warnings.all[0],
              "/device_products: bfloat16 needs a device (the CPU multiplies in float32)"));
  }
  CHECK(has(error_of([&] { trainer_on_device(r, "bf16", Device::cpu); }),
            "/device_products: expected float32, tf32 or bfloat16, got 'bf16'"));
}
