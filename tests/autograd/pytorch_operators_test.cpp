// SPDX-License-Identifier: Apache-2.0
// The output and the gradients of every operator equal PyTorch's.
#include <doctest/doctest.h>

#include "libsten/compute/autograd/tape.h"
#include "libsten/core/dispatch/operators.h"
#include "tests/autograd/pytorch.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Floating tensors as doubles.
Tensor widened(const Tensor& t) {
  const Dense x = t.to_dense();
  if (x.dtype() != DType::F32) return x;
  Dense y = Dense::zeros(DType::F64, x.extents);
  std::ranges::copy(x.values.as<float>(), y.values.mutate<double>().begin());
  return y;
}

class Cases {
 public:
  Cases(DType dtype, double tolerance) : dtype_(dtype), tolerance_(tolerance) {}

  void check_all() {
    for (const Json& c : file_.metadata("cases")) {
      name_ = c.at("name");
      CAPTURE(name_);
      op_ = c.at("op");
      attributes_ = attributes_of(c.at("attributes"));
      inputs_.clear();
      for (int i = 0; i < c.at("inputs"); ++i) inputs_.push_back(read("in" + std::to_string(i)));
      const std::vector<int> wanted = c.at("gradients");
      check_output();
      check_gradients(wanted);
      if (inputs_.size() > 1)
        for (int i : wanted) check_gradients({i});
    }
  }

 private:
  Tensor read(const std::string& what) const {
    const Tensor x = file_[name_ + ":" + what];
    return dtype_ == DType::F64 ? widened(x) : x;
  }
  void check(const std::string& what, const Tensor& got) const {
    CAPTURE(what);
    CHECK(got.to_dense().dtype() == dtype_);
    CHECK(far_from(file_[name_ + ":" + what], got, tolerance_) == "");
  }
  void check_output() const { check("out", apply(op_, inputs_, attributes_)); }
  // Checks the gradients of the inputs `wanted`; the other inputs are constants.
  void check_gradients(const std::vector<int>& wanted) const {
    Tape tape;
    std::vector<Var> x;
    for (int i = 0; i < std::ssize(inputs_); ++i)
      x.push_back(std::ranges::count(wanted, i) ? tape.parameter(inputs_[i]) : Var(inputs_[i]));
    const Var y = apply(op_, x, attributes_);
    check("out", y.value());
    tape.backward(y, read("dout"));
    for (int i = 0; i < std::ssize(inputs_); ++i) {
      const std::optional<Tensor>& g = x[i].grad();
      CAPTURE(i);
      REQUIRE(g.has_value() == (std::ranges::count(wanted, i) == 1));
      if (g) check("din" + std::to_string(i), *g);
    }
  }

  PyTorch file_{"operators"};
  DType dtype_;
  double tolerance_;
  std::string name_, op_;
  Attributes attributes_;
  std::vector<Tensor> inputs_;
};

}  // namespace

TEST_CASE("operators and their gradients agree with PyTorch to five digits in float32") {
  Cases(DType::F32, 1e-5).check_all();
}

TEST_CASE("operators and their gradients agree with PyTorch to six digits in double") {
  Cases(DType::F64, 1e-6).check_all();  // PyTorch's results are stored as float32
}
