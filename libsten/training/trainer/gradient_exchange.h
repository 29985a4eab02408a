// SPDX-License-Identifier: Apache-2.0
// Gradient exchange: all-reduces of gradients in buckets, during the backward pass.
#pragma once
#include <deque>
#include <optional>

#include "libsten/core/tensor/tensor.h"
#include "libsten/training/comm/communicator.h"

namespace sten {

// Sums the values of gradients: for a masked weight, those at the kept positions; otherwise all
// stored values. The gradients of a bucket are one sum, which starts when the bucket is full. All
// ranks add the same gradients in the same order.
class GradientExchange {
 public:
  // `from_device`: gradients that fill a bucket are sent from device memory, as float32, if the
  // ranks' transport supports this (sums_from_device()).
  GradientExchange(Communicator& ranks, Transport by, bool from_device = false)
      : ranks_(ranks), by_(by), from_device_(from_device && by == Transport::float32) {}

  // Adds a gradient, which is replaced by the sum during later calls or in finish(). `mask`: the
  // masked weight, whose mask is on the CPU; its gradient is dense, and 0 at pruned positions. Both
  // must outlive this object. A gradient on a device moves to the CPU, unless it is sent from the
  // device.
  void add(Tensor& gradient, const Tensor* mask);
  void finish();
  // Number of values sent from device memory.
  Index from_device() const { return values_from_device_; }

 private:
  struct Travelling {
    Tensor* gradient;
    const Tensor* mask;  // nullptr: all values
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
  Index size_ = 0;  // of the open bucket
  std::deque<Bucket> in_flight_;
  std::vector<float> unused_;  // free memory of buckets
};

}  // namespace sten
