// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/task/prefetch.h"

#include <future>
#include <optional>
#include <utility>

#include "libsten/core/base/parallel.h"

namespace sten {
namespace {

// The result of f(key) that another thread computes in advance. f is called by one thread at a time.
template <class Key, class Value>
class Ahead {
 public:
  // Returns f(key), and starts f(*next). A result for another key is dropped.
  template <class F>
  Value take(const Key& key, const std::optional<Key>& next, const F& f) {
    std::optional<Value> value;
    if (result_.valid()) {
      result_.wait();
      if (key_ == key) value = result_.get();
      result_ = {};
    }
    if (!value) value = f(key);
    if (next && threads() > 1) {
      key_ = *next;
      result_ = std::async(std::launch::async, [f, mine = *next] { return f(mine); });
    }
    return std::move(*value);
  }

 private:
  Key key_{};
  std::future<Value> result_;
};

// Batches and parts are functions of their numbers. They may be made at the same time.
class Prefetched final : public TaskData {
 public:
  explicit Prefetched(std::shared_ptr<const TaskData> data) : data_(std::move(data)) {}

  Index steps_per_epoch() const override { return data_->steps_per_epoch(); }
  std::vector<BatchPart> batch(Index step, PartRange range) const override {
    const BatchKey key{step, range}, next{step + 1, range};
    return batch_.take(key, next,
                       [data = data_](const BatchKey& k) { return data->batch(k.step, k.range); });
  }
  Index parts(DataSplit s) const override { return data_->parts(s); }
  BatchPart part(DataSplit s, Index i) const override {
    std::optional<PartKey> next;
    if (i + 1 < parts(s)) next.emplace(s, i + 1);
    return part_.take(PartKey(s, i), next,
                      [data = data_](const PartKey& k) { return data->part(k.first, k.second); });
  }
  std::uint64_t content() const override { return data_->content(); }

 private:
  struct BatchKey {
    Index step = 0;
    PartRange range;
    bool operator==(const BatchKey&) const = default;
  };
  using PartKey = std::pair<DataSplit, Index>;

  std::shared_ptr<const TaskData> data_;
  mutable Ahead<BatchKey, std::vector<BatchPart>> batch_;
  mutable Ahead<PartKey, BatchPart> part_;
};

}  // namespace

std::shared_ptr<TaskData> prefetched(std::shared_ptr<const TaskData> data) {
  return std::make_shared<Prefetched>(std::move(data));
}

}  // namespace sten
