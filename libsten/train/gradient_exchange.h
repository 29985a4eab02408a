// Gradients that are summed over ranks while others are still computed.
#pragma once
#include <deque>
#include <optional>

#include "libsten/comm/communicator.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// What travels are values: of a weight with a mask those of its gradient at the positions that the mask
// keeps, and all that other gradients store. Several gradients are one sum, which begins once they are
// enough. All ranks add the same in the same order.
class GradientExchange {
 public:
  // `from_device`: gradients that are enough alone travel from a device's memory, which the ranks'
  // transport takes (sums_from_device()), as float32.
  GradientExchange(Communicator& ranks, Transport by, bool from_device = false)
      : ranks_(ranks), by_(by), from_device_(from_device && by == Transport::float32) {}

  // `gradient` becomes the sum, at the latest in finish(). With `mask`, the weight, which is masked, it
  // is dense, and 0 at the positions that are pruned. Both stay where they are. The mask is the CPU's; what
  // is on a device is on the CPU afterwards, unless it travels from there.
  void add(Tensor& gradient, const Tensor* mask);
  void finish();
  // Numbers that travelled from a device's memory.
  Index from_device() const { return values_from_device_; }

 private:
  struct Travelling {
    Tensor* gradient;
    const Tensor* mask;  // nullptr: all values travel
    Index count;
  };
  struct Bucket {
    std::vector<Travelling> inside;
    std::vector<float> values;
    std::optional<PendingSum> sum;
  };

  void send();
  void take_back();

  Communicator& ranks_;
  Transport by_;
  bool from_device_;
  Index values_from_device_ = 0;
  Bucket filling_;
  Index size_ = 0;  // of what is in it
  std::deque<Bucket> in_flight_;
  std::vector<float> unused_;  // memory of a bucket
};

}  // namespace sten
