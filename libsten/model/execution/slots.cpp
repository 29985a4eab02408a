// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/slots.h"

#include <algorithm>

#include "libsten/compute/product/tiles.h"
#include "libsten/core/base/parallel.h"

namespace sten::execution {
namespace {

constexpr Index still_held = -1;

}  // namespace

Index tokens_of(const Shape& shape) {
  Index n = 1;
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) n *= shape[d];
  return n;
}

float* Slots::hold(std::size_t number, Index size) {
  size = whole_lines(size);
  own_.resize(all_.size());
  own_[number] = Array<float>::uninitialized(size);
  held_[number] = {size * floats, operator_, still_held};
  return own_[number].mutate();
}

void Slots::allot(std::size_t number, Shape shape) {
  const Index tokens = tokens_of(shape);
  all_[number].panels = hold(number, panels_of(tokens) * shape.back() * lanes_of(tokens));
  all_[number].shape = std::move(shape);
}

void Slots::allot_interleaved(std::size_t number, Shape shape) {
  const Index size = interleaved_size(shape.back(), tokens_of(shape));
  all_[number].interleaved = reinterpret_cast<std::uint16_t*>(hold(number, size / 2));
  all_[number].shape = std::move(shape);
}

void Slots::note_tensor(std::size_t number) {
  held_[all_.size() + number] = {static_cast<Index>(all_[number].tensor->bytes()), operator_,
                                 still_held};
}

void Slots::release(std::size_t number) {
  all_[number].tensor.reset();
  if (!block_size_ && number < own_.size()) own_[number] = {};
  for (const std::size_t i : {number, all_.size() + number})
    if (held_[i].last == still_held) held_[i].last = operator_;
}

void Slots::end_plan() {
  for (BufferLifetime& l : held_)
    if (l.last == still_held) l.last = operator_;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (held_[i].size == 0) continue;
    placed_.push_back(i);
    buffers_.push_back(held_[i]);
  }
  block_size_ = plan_memory(buffers_);
}

void Slots::begin_run() {
  rotations.clear();
  if (block_size_ == 0) return;
  own_.clear();
  if (block_.size() == 0) block_ = Array<float>::uninitialized(block_size_ / floats);
  float* begin = block_.mutate();
  for (std::size_t i = 0; i < placed_.size(); ++i) {
    Value& v = all_[placed_[i]];
    float* at = begin + buffers_[i].at / floats;
    if (v.interleaved)
      v.interleaved = reinterpret_cast<std::uint16_t*>(at);
    else
      v.panels = at;
  }
}

const Tensor& Slots::tensor(std::size_t number) {
  Value& v = all_[number];
  if (v.tensor) return *v.tensor;
  Dense rows{v.shape, Values::uninitialized(DType::F32, size_of(v.shape))};
  const Index features = v.shape.back(), tokens = tokens_of(v.shape), lanes = lanes_of(tokens);
  float* to = rows.values.mutate<float>().data();
  if (v.interleaved) {
    from_interleaved(interleaved(number), {ActivationLayout::tokens, features, tokens, to});
    v.tensor = std::move(rows);
    return *v.tensor;
  }
  const auto some = [&](Index begin, Index end) {
    for (Index p = begin; p < end; ++p)
      transpose_tiles(v.panels + p * features * lanes, lanes, features,
                      std::min(lanes, tokens - p * lanes), to + p * lanes * features, features);
  };
  parallel_for(panels_of(tokens), 1, some);
  v.tensor = std::move(rows);
  return *v.tensor;
}

Interleaved Slots::interleaved(std::size_t number) const {
  const Value& v = all_[number];
  return {v.shape.back(), tokens_of(v.shape), v.interleaved};
}

Activations Slots::activations(std::size_t number) {
  const Value& v = all_[number];
  if (v.interleaved) tensor(number);
  if (v.panels)
    return {activation_layout_of(tokens_of(v.shape)), v.shape.back(), tokens_of(v.shape), v.panels};
  const Dense& x = v.tensor->as<Dense>();
  return {ActivationLayout::tokens, x.extents.back(), tokens_of(x.extents),
          x.values.as<float>().data()};
}

std::vector<Index> Slots::live_size_by_operator(Index operators) const {
  return live_size_by_step(held_, operators);
}

Index Slots::held_bytes() const {
  const std::vector<BufferLifetime> tensors(held_.begin() + std::ssize(all_), held_.end());
  return block_size_ + peak_live_size(tensors);
}

}  // namespace sten::execution
