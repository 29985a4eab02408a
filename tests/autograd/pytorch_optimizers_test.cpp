// SPDX-License-Identifier: Apache-2.0
// Ten steps of each optimizer equal PyTorch's.
#include <doctest/doctest.h>

#include "libsten/training/optim/adamw.h"
#include "libsten/training/optim/sgd.h"
#include "tests/autograd/pytorch.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Part i of the first axis.
Dense part(const Dense& x, Index i) {
  Dense y = Dense::zeros(x.dtype(), Shape(x.extents.begin() + 1, x.extents.end()));
  std::ranges::copy(x.values.as<float>().subspan(i * y.size(), y.size()),
                    y.values.mutate<float>().begin());
  return y;
}

// Options that are missing in the JSON keep the optimizer's defaults.
SgdOptions sgd_options(const Json& j) {
  SgdOptions o;
  o.rate = j.value("rate", o.rate);
  o.momentum = j.value("momentum", o.momentum);
  o.nesterov = j.value("nesterov", o.nesterov);
  o.weight_decay = j.value("weight_decay", o.weight_decay);
  return o;
}
AdamWOptions adamw_options(const Json& j) {
  AdamWOptions o;
  o.rate = j.value("rate", o.rate);
  o.beta1 = j.value("beta1", o.beta1);
  o.beta2 = j.value("beta2", o.beta2);
  o.eps = j.value("eps", o.eps);
  o.weight_decay = j.value("weight_decay", o.weight_decay);
  return o;
}

void check_steps(const PyTorch& file, const std::string& name, const auto& optimizer) {
  const Dense gradients = file[name + ":gradients"].to_dense(),
              after = file[name + ":after"].to_dense();
  Parameter p(file[name + ":start"]);
  for (Index i = 0; i < gradients.extents[0]; ++i) {
    CAPTURE(i);
    optimizer.step(p, part(gradients, i));
    CHECK(far_from(part(after, i), p.value, 1e-6) == "");
  }
}

}  // namespace

TEST_CASE("ten steps of SGD and AdamW match PyTorch's") {
  const PyTorch file("optimizers");
  const Json optimizers = file.metadata("optimizers");
  CHECK(optimizers.size() == 8);
  for (const auto& o : optimizers.items()) {
    const std::string name = o.key();
    CAPTURE(name);
    if (name.starts_with("sgd."))
      check_steps(file, name, Sgd(sgd_options(o.value())));
    else
      check_steps(file, name, AdamW(adamw_options(o.value())));
  }
}
