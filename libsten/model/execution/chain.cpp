// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/chain.h"

#include <algorithm>
#include <functional>

#include "libsten/core/base/parallel.h"
#include "libsten/core/base/scratch.h"
#include "libsten/model/execution/embeddings.h"

namespace sten::execution {
namespace {

// Panels per group, with at most so many floats of local values. A few times the L2 cache, since
// each group reads all weights (two threads, 2:4 and 1:10 of BERT: 1.04 and 1.05 times as fast as
// single panels, which fit).
constexpr Index most_group_panels = 4;
constexpr Index most_local_floats = Index{3} << 19;

}  // namespace

void FusedChain::lower() {
  tokens_ = 1;
  for (const Index extent : tokens_shape) tokens_ *= extent;
  for (const ChainValue& v : values) {
    const Index size = v.is_local ? whole_lines(panel_size(v)) : 0;
    buffers_.push_back({size, static_cast<Index>(v.first), static_cast<Index>(v.last)});
  }
  local_size_ = plan_memory(buffers_);
  group_panels_ =
      std::clamp<Index>(most_local_floats / std::max<Index>(1, local_size_), 1, most_group_panels);
  for (const Outcome& o : outcomes)
    if (o.tensor) stored.push_back(o.value);
  global_.resize(values.size());
  nanoseconds_ = std::vector<std::atomic<std::int64_t>>(work.size());
}

Index FusedChain::panel_size(const ChainValue& v) const {
  return lanes_of(tokens_) * (v.interleaved ? padded_features(v.features) / 2 : v.features);
}

Index FusedChain::working_bytes() const {
  return threads() * group_panels_ * local_size_ * Index{sizeof(float)};
}

// Allocates row outputs, in the memory of the last run if it is not shared.
void FusedChain::make_rows(Slots& slots, const Outcome& o) const {
  std::optional<Tensor>& t = slots[o.value].tensor;
  if (t && t->overwrite([](const auto&) {})) return;
  t = Dense{o.shape, sten::Values::uninitialized(DType::F32, size_of(o.shape))};
  slots.note_tensor(o.value);
}

void FusedChain::begin(Slots& slots) {
  for (const Outcome& o : outcomes) {
    Value& v = slots[o.value];
    if (o.panels && !v.is_in_panels()) {
      if (o.interleaved)
        slots.allot_interleaved(o.value, o.shape);
      else
        slots.allot(o.value, o.shape);
    }
    if (o.tensor) make_rows(slots, o);
  }
  for (const Rows& r : rows) {
    const Tensor& t = *slots[r.value].tensor;
    if (t.as<Dense>().extents != r.shape) throw PlanChanged{};
    if (r.embed) {
      EmbedInstruction::Table& table = r.embed->tables[r.table];
      if (!are_within(t.as<Dense>(), table.rows.as<Dense>().extents[0])) throw PlanChanged{};
      table.ids = t.as<Dense>().values.bytes().data();
    }
    if (r.load) r.load->rows = t.as<Dense>().values.as<float>().data();
    if (r.store) r.store->rows = const_cast<float*>(t.as<Dense>().values.as<float>().data());
  }
  for (const Rotation& r : rotations) {
    const Dense& positions = slots[r.positions].tensor->as<Dense>();
    if (positions.extents != r.shape) throw PlanChanged{};
    const Dense& frequencies = slots[r.frequencies].tensor->as<Dense>();
    r.step->by = &slots.rotations.of(positions, frequencies, r.scale, tokens_);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value& v = slots[values[i].number];
    if (!values[i].is_local)
      global_[i] = v.interleaved ? reinterpret_cast<float*>(v.interleaved) : v.panels;
  }
  for (auto& n : nanoseconds_) n = 0;
}

void FusedChain::run_group(Index first, Index count, const Slots& slots) const {
  thread_local Scratch memory;
  thread_local std::vector<float*> at;
  const Index panels = panels_of(count);
  float* local = memory.of(std::max<Index>(1, panels * local_size_));
  at.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    at[i] = values[i].is_local ? local + buffers_[i].at * panels
                               : global_[i] + first / lanes_of(tokens_) * panel_size(values[i]);
  double start = step_time(slots);
  for (std::size_t i = 0; i < work.size(); ++i) {
    work[i]->run({first, count, lanes_of(tokens_), at.data()});
    const double end = step_time(slots);
    nanoseconds_[i] += static_cast<std::int64_t>((end - start) * 1e9);
    start = end;
  }
}

void FusedChain::run(Slots& slots) {
  begin(slots);
  const Index panels = panels_of(tokens_);
  // Groups are distributed evenly; a few groups are split over all threads.
  Index groups = ceil_div(panels, group_panels_);
  const bool is_shared = panels < 2 * threads();
  if (is_shared)
    groups = 1;
  else
    groups = std::min(panels, ceil_div(groups, threads()) * threads());
  const auto some = [&](Index begin, Index end) {
    for (Index g = begin; g < end; ++g) {
      const Index first = g * panels / groups * panel_width;
      const Index last = std::min(tokens_, (g + 1) * panels / groups * panel_width);
      run_group(first, last - first, slots);
    }
  };
  if (is_shared)
    some(0, 1);
  else
    parallel_for(groups, 1, std::cref(some));
  const double team = is_shared ? 1 : std::min<double>(threads(), static_cast<double>(groups));
  for (std::size_t i = 0; i < work.size(); ++i)
    steps[i].seconds = 1e-9 * static_cast<double>(nanoseconds_[i]) / team;
}

}  // namespace sten::execution
