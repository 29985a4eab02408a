// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/staged/trained.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/text.h"
#include "libsten/files/checkpoint/mask_file.h"
#include "libsten/programs/measure/measure.h"

namespace sten {
namespace {

// Collects faults in one line of bounded length.
class Faults {
 public:
  void add(const std::string& text) {
    constexpr std::size_t most = 5;
    if (++count_ <= most) text_ += (text_.empty() ? "" : "; ") + text;
    more_ = count_ > most ? fmt::format("; and {} more", count_ - most) : "";
  }
  void fail_if_any(const std::string& where) const {
    if (count_) fail("{}: {}{}", where, text_, more_);
  }

 private:
  std::size_t count_ = 0;
  std::string text_, more_;
};

Index nonzeros_outside(const Dense& x, const Mask& keep) {
  // Kept zeros were zeros of x, so the remaining zeros are at pruned positions.
  return x.size() - keep.count() - (zeros(x) - kept_zeros(x, keep));
}

}  // namespace

TrainedChange check_trained(const Checkpoint& given, const Checkpoint& trained,
                            const Checkpoint& masks) {
  Faults faults;
  for (const CheckpointTensor& t : given.tensors()) {
    const CheckpointTensor* now = trained.find(t.name);
    if (!now)
      faults.add(fmt::format("{} is missing", quote(t.name)));
    else if (now->shape != t.shape)
      faults.add(fmt::format("{} was {} and is {}", quote(t.name), to_string(t.shape),
                             to_string(now->shape)));
    else if (now->dtype != t.dtype)
      faults.add(
          fmt::format("{} was {} and is {}", quote(t.name), name_of(t.dtype), name_of(now->dtype)));
    else if (now->layout != t.layout)
      faults.add(
          fmt::format("{} was {} and is {}", quote(t.name), t.layout.str(), now->layout.str()));
  }
  faults.fail_if_any(trained.name());
  for (const CheckpointTensor& t : trained.tensors())
    if (!given.find(t.name)) warn("{}: new tensor {}", trained.name(), quote(t.name));

  TrainedChange change;
  for (const CheckpointTensor& t : given.tensors()) {
    const CheckpointTensor& now = *trained.find(t.name);
    if (!is_prunable(t.dtype) || t.is_sparse()) continue;
    const Dense x = trained.load(now).to_dense();
    if (const auto bad = first_not_finite(x)) {
      if (!first_not_finite(given.load(t).to_dense()))
        faults.add(fmt::format("{}: element {} turned NaN or infinite", quote(t.name), *bad));
    } else if (const CheckpointTensor* m = masks.find(t.name); m && x.size() > 0) {
      const Index n = nonzeros_outside(x, read_mask(masks, t));
      change.violations += n;
      change.tensors += n > 0;
    }
    given.drop(t);
    trained.drop(now);
  }
  faults.fail_if_any(trained.name());
  return change;
}

}  // namespace sten
