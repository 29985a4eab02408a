#include "libsten/training/task/prefetch.h"

#include <future>

#include "libsten/core/base/parallel.h"

namespace sten {
namespace {

class Prefetched final : public TaskData {
 public:
  explicit Prefetched(std::shared_ptr<const TaskData> data) : data_(std::move(data)) {}

  Index steps_per_epoch() const override { return data_->steps_per_epoch(); }

  // Batches are a function of the step: a batch prefetched for another step is dropped.
  std::vector<BatchPart> batch(Index step, PartRange range) const override {
    std::vector<BatchPart> parts;
    const bool is_ready = ahead_.valid();
    if (is_ready) ahead_.wait();  // only one thread may call data_->batch()
    if (is_ready && ahead_step_ == step && ahead_range_ == range)
      parts = ahead_.get();
    else
      parts = data_->batch(step, range);
    ahead_ = {};
    if (threads() > 1) {
      ahead_step_ = step + 1;
      ahead_range_ = range;
      ahead_ = std::async(std::launch::async,
                          [data = data_, step, range] { return data->batch(step + 1, range); });
    }
    return parts;
  }

  Index parts(DataSplit s) const override { return data_->parts(s); }
  BatchPart part(DataSplit s, Index i) const override { return data_->part(s, i); }
  std::uint64_t content() const override { return data_->content(); }

 private:
  std::shared_ptr<const TaskData> data_;
  mutable std::future<std::vector<BatchPart>> ahead_;
  mutable Index ahead_step_ = -1;
  mutable PartRange ahead_range_;
};

}  // namespace

std::shared_ptr<TaskData> prefetched(std::shared_ptr<const TaskData> data) {
  return std::make_shared<Prefetched>(std::move(data));
}

}  // namespace sten
