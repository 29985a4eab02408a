// What ranks exchange in a step, so that each goes on with the gradients of the whole batch.
#include <algorithm>

#include "libsten/base/hash.h"
#include "libsten/base/text.h"
#include "libsten/comm/together.h"
#include "libsten/optim/kept_values.h"
#include "libsten/train/trainer.h"

namespace sten {
namespace {

// A gradient's values, or of those the ones at the positions that its weight keeps.
struct Travelling {
  Tensor* gradient;
  const Tensor* mask;  // the weight; nullptr: all values travel
  Index count;

  void pack(float* to) const {
    const float* from = gradient->values()->as<float>().data();
    if (mask)
      gather_kept(*mask, from, to);
    else
      std::copy_n(from, count, to);
  }
  // At positions that did not travel the gradient stays what it was, which nobody looks at.
  void unpack(const float* from) const {
    *gradient = Tensor::update(std::move(*gradient), [&](Values& v) {
      if (mask)
        scatter_kept(*mask, from, v.mutate<float>().data());
      else
        std::copy_n(from, count, v.mutate<float>().data());
    });
  }
};

// Several gradients are one sum of a few MB, which takes less time for each byte than small ones do.
// What is larger alone is one, too.
constexpr Index bucket_size = Index{1} << 20;

// Sums of a bucket at a time. Buckets depend on nothing but the order of what is added, so that they
// are the same on all ranks; a bucket that is full could travel while others are still computed.
class Buckets {
 public:
  explicit Buckets(Communicator& ranks) : ranks_(ranks) {}

  void add(Travelling t) {
    if (size_ + t.count > bucket_size) send();
    if (!t.mask && t.count > bucket_size) {  // as it is
      *t.gradient =
          Tensor::update(std::move(*t.gradient), [&](Values& v) { ranks_.sum(v.mutate<float>()); });
      return;
    }
    inside_.push_back(t);
    size_ += t.count;
  }
  void send() {
    buffer_.resize(static_cast<std::size_t>(size_));
    float* at = buffer_.data();
    for (const Travelling& t : inside_) {
      t.pack(at);
      at += t.count;
    }
    if (size_ > 0) ranks_.sum(buffer_);
    at = buffer_.data();
    for (const Travelling& t : inside_) {
      t.unpack(at);
      at += t.count;
    }
    inside_.clear();
    size_ = 0;
  }

 private:
  Communicator& ranks_;
  std::vector<Travelling> inside_;
  std::vector<float> buffer_;
  Index size_ = 0;
};

std::uint64_t hash_of_positions(const Tensor& w) { return hash_bytes(0, w.stored().bits.bytes()); }

}  // namespace

// Those of the last weights come first out of a backward pass.
void Trainer::exchange(Gradients& gradients, GradientTraffic& traffic, bool all_have_parts) {
  if (!all_have_parts) complete(gradients);
  check_positions();
  const std::uint64_t before = ranks_->bytes();
  Buckets buckets(*ranks_);
  for (std::size_t i = gradients.size(); i-- > 0;) {
    if (!gradients[i]) continue;
    const Tensor& w = state_.parameters[i].value;
    Tensor& g = *gradients[i];
    const bool is_masked = w.is<Masked>() && !needs_all_positions(i);
    const Index count = is_masked ? kept_count(w) : g.values()->size();
    const auto sent = static_cast<std::uint64_t>(count) * sizeof(float);
    const auto dense = static_cast<std::uint64_t>(size_of(w.shape())) * sizeof(float);
    traffic.dense += dense;
    if (!w.is<Dense>()) {
      traffic.sparse_sent += sent;
      traffic.sparse_dense += dense;
    }
    buckets.add({&g, is_masked ? &w : nullptr, count});
  }
  buckets.send();
  traffic.sent = ranks_->bytes() - before;
}

// A rank whose parts have no predictions takes part with zeros, for weights that have a gradient on
// other ranks.
void Trainer::complete(Gradients& gradients) const {
  const bool has_none = gradients.empty();
  gradients.resize(state_.parameters.size());
  std::vector<float> there(gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) there[i] = gradients[i] ? 1.0F : 0.0F;
  ranks_->sum(there);
  if (!has_none) return;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (there[i] == 0) continue;
    const Tensor& w = state_.parameters[i].value;
    OutFormat own;
    if (&gradient_format(i, own) == &own)
      gradients[i] = w.with_values(Values(DType::F32, w.values()->size()));
    else
      gradients[i] = Dense::zeros(DType::F32, w.shape());
  }
}

// Ranks that have the same weights choose the same positions. Sums of values at other ones would be
// wrong without a sign.
void Trainer::check_positions() {
  if (!has_new_positions_) return;
  has_new_positions_ = false;
  for (std::size_t i = 0; i < sparse_.size(); ++i) {
    const Parameter& p = state_.parameters[i];
    if (!sparse_[i].stages || p.value.is<Dense>()) continue;
    if (const int other = differing_rank(*ranks_, hash_of_positions(p.value)))
      fail("step {}: {} has other positions on rank {} than on rank 0", state_.step, quote(p.name),
           other);
  }
}

void Trainer::check_ranks() const {
  if (ranks_->size() == 1) return;
  std::uint64_t hash = 0;
  for (const Parameter& p : state_.parameters) hash = hash_bytes(hash, p.value.values()->bytes());
  if (const int other = differing_rank(*ranks_, hash))
    fail(
        "after step {}: rank {} has other weights than rank 0: its processor or memory may be at "
        "fault",
        state_.step, other);
}

}  // namespace sten
