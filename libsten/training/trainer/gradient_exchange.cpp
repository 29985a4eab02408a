// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/gradient_exchange.h"

#include <algorithm>

#include "libsten/core/base/cuda.h"
#include "libsten/training/optim/kept_values.h"

namespace sten {
namespace {

// The minimum of values per bucket, except for the last one. Small buckets cost more time per byte;
// large ones overlap less. Each rank sends a part of a bucket to each other rank, and parts should
// not be small.
Index bucket_size(int ranks) {
  constexpr Index least = Index{1} << 18, least_part = Index{1} << 14;
  return std::max(least, least_part * ranks);
}

}  // namespace

void GradientExchange::add(Tensor& gradient, const Tensor* mask) {
  take_back();
  const Index enough = bucket_size(ranks_.size());
  const Index count = mask ? kept_count(*mask) : gradient.values()->size();
  if (!mask && count >= enough) {  // without a bucket
    send();
    Bucket& alone = in_flight_.emplace_back();
    const bool stays_on_device = from_device_ && gradient.device() != Device::cpu;
    if (stays_on_device) values_from_device_ += count;
    if (!stays_on_device) gradient = gradient.to(Device::cpu);
    gradient = Tensor::update(std::move(gradient), [&](Values& v) {
      if (!stays_on_device) {
        alone.sum.emplace(ranks_.begin_sum(v.mutate<float>(), by_));
        return;
      }
      const std::span x(reinterpret_cast<float*>(v.mutate_bytes()),
                        static_cast<std::size_t>(count));
      wait_for_cuda();
      alone.sum.emplace(ranks_.begin_sum_on_device(x, [] { cuda(); }));
    });
    return;
  }
  gradient = gradient.to(Device::cpu);
  filling_.inside.push_back({&gradient, mask, count});
  size_ += count;
  if (size_ >= enough) send();
}

void GradientExchange::finish() {
  send();
  while (!in_flight_.empty()) {
    in_flight_.front().sum->wait();
    take_back();
  }
}

void GradientExchange::send() {
  if (size_ == 0) return;
  filling_.values = std::move(unused_);
  filling_.values.resize(static_cast<std::size_t>(size_));
  float* at = filling_.values.data();
  for (const Travelling& t : filling_.inside) {
    const float* from = t.gradient->values()->as<float>().data();
    if (t.mask)
      gather_kept(*t.mask, from, at);
    else
      std::copy_n(from, t.count, at);
    at += t.count;
  }
  in_flight_.push_back(std::move(filling_));
  in_flight_.back().sum.emplace(ranks_.begin_sum(in_flight_.back().values, by_));
  filling_ = {};
  size_ = 0;
  unused_ = {};
}

// Copies finished sums to their gradients.
void GradientExchange::take_back() {
  for (; !in_flight_.empty() && in_flight_.front().sum->is_done(); in_flight_.pop_front()) {
    Bucket& done = in_flight_.front();
    const float* at = done.values.data();
    for (const Travelling& t : done.inside) {
      *t.gradient = Tensor::update(std::move(*t.gradient), [&](Values& v) {
        if (t.mask)
          scatter_kept(*t.mask, at, v.mutate<float>().data());
        else
          std::copy_n(at, t.count, v.mutate<float>().data());
      });
      at += t.count;
    }
    unused_ = std::move(done.values);
  }
}

}  // namespace sten
