// A sum on its way to an operator that would rather add to it than write zeros which others add.
#pragma once
#include <optional>

#include "libsten/tensor/tensor.h"

namespace sten {

// While it lives, an operator that this thread runs may take the sum, a dense tensor of the shape
// and dtype of output `output`, and return it with its output added. What does not know of it
// writes its output alone.
class AddTo {
 public:
  AddTo(std::size_t output, Tensor sum) : output_(output), sum_(std::move(sum)), outer_(current) {
    current = this;
  }
  ~AddTo() { current = outer_; }
  AddTo(const AddTo&) = delete;
  AddTo& operator=(const AddTo&) = delete;

  // For the operator; the Tensor is the only one that holds the values if its giver had no other.
  static std::optional<Tensor> take(std::size_t output) {
    if (!current || current->output_ != output) return std::nullopt;
    return std::exchange(current->sum_, std::nullopt);
  }
  // For the one who gave it: nothing if it was taken.
  std::optional<Tensor> left() { return std::exchange(sum_, std::nullopt); }

 private:
  inline static thread_local AddTo* current = nullptr;

  std::size_t output_;
  std::optional<Tensor> sum_;
  AddTo* outer_;
};

}  // namespace sten
