// SPDX-License-Identifier: Apache-2.0
// Image operators in hundreds of small cases: outputs and gradients equal PyTorch's, with the same
// bits for any number of threads. As in all tests, the ISA is that of the process.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "libsten/compute/autograd/tape.h"
#include "libsten/core/base/random.h"
#include "tests/autograd/pytorch.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Values in [low, high), multiples of the quantum, drawn as in image_reference.py.
struct Drawn {
  double low = -1, high = 1, quantum = 0;

  Tensor tensor(DType dtype, const Shape& shape, std::uint64_t seed) const {
    Dense x = Dense::zeros(dtype, shape);
    for (Index i = 0; i < x.size(); ++i) {
      double v = low + (high - low) * random_uniform(seed, static_cast<std::uint64_t>(i));
      if (quantum > 0) v = std::floor(v / quantum) * quantum;
      const auto rounded = static_cast<float>(v);
      if (dtype == DType::F64)
        x.values.mutate<double>()[i] = rounded;
      else
        x.values.mutate<float>()[i] = rounded;
    }
    return x;
  }
};

// The output of a case, then the gradients of all inputs.
std::vector<Tensor> computed(const Json& c, DType dtype) {
  const double most = c.value("range", 1.0), quantum = c.value("quantum", 0.0);
  const std::vector<std::size_t> positive = c.value("positive", std::vector<std::size_t>());
  const std::uint64_t seed = c.at("seed");
  Tape tape;
  std::vector<Var> in;
  for (const Json& shape : c.at("inputs")) {
    const double low = std::ranges::count(positive, in.size()) > 0 ? 0.25 : -most;
    in.push_back(tape.parameter(Drawn{low, most, quantum}.tensor(dtype, shape, seed + in.size())));
  }
  const Var y = apply(c.at("op").get<std::string>(), in, attributes_of(c.at("attributes")));
  tape.backward(y, Drawn{}.tensor(dtype, y.shape(), seed + 100));
  std::vector<Tensor> all{y.value()};
  for (const Var& x : in) all.push_back(x.grad().value());
  return all;
}

class Images {
 public:
  Images() : values_(file_["values"].to_dense()), cases_(file_.metadata("cases")) {}

  const Json& cases() const { return cases_; }
  void check(DType dtype, double tolerance) {
    at_ = 0;
    for (const Json& c : cases_) {
      const std::string text = c.dump();
      CAPTURE(text);
      const std::vector<Tensor> got = computed(c, dtype);
      REQUIRE(got.size() == c.at("inputs").size() + 1);
      for (std::size_t i = 0; i < got.size(); ++i) {
        CAPTURE(i);
        CHECK(got[i].dtype() == dtype);
        CHECK(far_from(next(i == 0 ? c.at("out") : c.at("inputs").at(i - 1)), got[i], tolerance) ==
              "");
      }
    }
    CHECK(at_ == values_.size());
  }

 private:
  // The next stored values.
  Tensor next(const Shape& shape) {
    Dense x = Dense::zeros(DType::F32, shape);
    REQUIRE(at_ + x.size() <= values_.size());
    std::copy_n(values_.values.as<float>().data() + at_, x.size(), x.values.mutate<float>().data());
    at_ += x.size();
    return x;
  }

  PyTorch file_{"images"};
  Dense values_;
  Json cases_;
  Index at_ = 0;
};

}  // namespace

TEST_CASE("image operators and their gradients agree with PyTorch to five digits in float32") {
  Images images;
  CHECK(images.cases().size() >= 300);
  images.check(DType::F32, 1e-5);
}

TEST_CASE("image operators and their gradients agree with PyTorch to six digits in double") {
  Images().check(DType::F64, 1e-6);  // PyTorch's results are stored as float32
}

TEST_CASE("image operators and their gradients are bit-identical on 1, 2 and 3 threads") {
  const Images images;
  for (const Json& c : images.cases()) {
    const std::string text = c.dump();
    CAPTURE(text);
    std::vector<Tensor> one;
    for (const int n : {1, 2, 3}) {
      CAPTURE(n);
      const Threads with(n);
      const std::vector<Tensor> got = computed(c, DType::F32);
      if (one.empty()) one = got;
      for (std::size_t i = 0; i < got.size(); ++i) {
        CAPTURE(i);
        CHECK(same_bits(got[i].to_dense(), one[i].to_dense()));
      }
    }
  }
}
