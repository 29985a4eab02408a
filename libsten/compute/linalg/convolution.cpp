// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/convolution.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/isa.h"
#include "libsten/compute/linalg/convolution_product.h"
#include "libsten/compute/linalg/onednn_convolution.h"
#include "libsten/compute/linalg/winograd.h"
#include "libsten/core/base/parallel.h"

namespace sten {
namespace {

// Uninitialized floats, aligned for the library.
class Floats {
 public:
  explicit Floats(Index n)
      : begin_(static_cast<float*>(::operator new[](bytes_of(n), alignment))) {}
  ~Floats() { ::operator delete[](begin_, alignment); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  operator float*() const { return begin_; }

 private:
  static constexpr std::align_val_t alignment{64};
  static std::size_t bytes_of(Index n) {
    return static_cast<std::size_t>(std::max<Index>(1, n)) * sizeof(float);
  }
  float* begin_;
};

bool winograd_is_off() {
  static const bool off = [] {
    const char* said = std::getenv("STEN_WINOGRAD");
    return said && std::string_view(said) == "0";
  }();
  return off || kernels::active_isa() == kernels::Isa::reference;
}

// Measured on Zen 3 with AVX2: 2 to 3.5 times as fast as oneDNN's direct convolutions from 32
// channels on, slower at 16 to 16. With few tiles, the transform of the weights dominates.
bool takes_winograd(const Convolution& c) {
  const Index least = 16, both = 48, tiles = 16;
  return has_winograd(c) && std::min(c.in, c.out) >= least && c.in + c.out >= both &&
         winograd_tiles(c) >= tiles && !winograd_is_off();
}

// Forward pass or gradient of x by oneDNN. If there are enough images, each thread convolves some
// of them: OpenMP's threads, which the library would use, spin for a while after their work, on the
// cores that the next loop needs.
class ByLibrary {
 public:
  ByLibrary(ConvolutionPart part, const Convolution& c, bool has_bias) : c_(c), images_(c.batch) {
    const Index team = threads(), segments_per_thread = 4;
    if (team > 1 && c.batch >= 2 * team) images_ = ceil_div(c.batch, segments_per_thread * team);
    const bool is_whole = images_ == c.batch;
    Convolution piece = c, last = c;
    piece.batch = images_;
    last.batch = c.batch - (pieces() - 1) * images_;
    const auto find = [&](const Convolution& of) {
      return OnednnConvolution::find(part, of, has_bias, is_whole ? threads() : 1);
    };
    library_ = find(piece);
    of_last_ = library_ ? find(last) : nullptr;
    if (!of_last_ || !of_last_->packs_as(*library_)) library_ = nullptr;
  }

  // Whether the library supports the convolution; otherwise no other member may be called.
  explicit operator bool() const { return library_ != nullptr; }
  // Packs weights in the order of all segments.
  const OnednnConvolution& library() const { return *library_; }

  void forward(const float* x, const float* packed, const float* b, float* y,
               const ConvolutionEnd& end) const {
    each([&](const OnednnConvolution& of, Index image, float* scratch) {
      of.forward(x + image * c_.pixels() * c_.in, packed, b,
                 y + image * c_.output_positions() * c_.out, scratch);
      const Index images = std::min(images_, c_.batch - image), least = 256;
      // On this thread if the segments run in parallel.
      parallel_for(images * c_.output_positions(), least, [&](Index first, Index last) {
        end.apply(image * c_.output_positions() + first, last - first, c_.out, y);
      });
    });
  }
  void data(const float* dy, const float* packed, float* dx) const {
    each([&](const OnednnConvolution& of, Index image, float* scratch) {
      of.data(dy + image * c_.output_positions() * c_.out, packed, dx + image * c_.pixels() * c_.in,
              scratch);
    });
  }

 private:
  Index pieces() const { return ceil_div(c_.batch, images_); }
  // Calls f(convolution of a segment, its first image, scratch).
  template <class F>
  void each(F&& f) const {
    const Index size = std::max(library_->scratch_size(), of_last_->scratch_size());
    const auto run = [&](Index begin, Index end) {
      const Floats scratch(size);
      for (Index p = begin; p < end; ++p)
        f(p + 1 < pieces() ? *library_ : *of_last_, p * images_, scratch);
    };
    if (pieces() == 1)
      run(0, 1);
    else
      parallel_for(pieces(), 1, run);
  }

  Convolution c_;
  Index images_;  // per segment
  std::shared_ptr<const OnednnConvolution> library_, of_last_;
};

}  // namespace

void convolve(const Convolution& c, const float* x, const float* w, const float* b, float* y,
              const ConvolutionEnd& end) {
  if (c.batch == 0) return;
  if (takes_winograd(c)) return convolve_by_winograd(c, x, w, b, y, end);
  const ByLibrary by(ConvolutionPart::forward, c, b != nullptr);
  if (!by) return convolve_by_product(c, x, w, b, y, end);
  const Floats packed(by.library().packed_size());
  by.library().pack(w, packed);
  by.forward(x, packed, b, y, end);
}

void convolve_data(const Convolution& c, const float* dy, const float* w, float* dx) {
  if (c.batch == 0) return;
  if (takes_winograd(c)) return convolve_data_by_winograd(c, dy, w, dx);
  const ByLibrary by(ConvolutionPart::data, c, false);
  if (!by) return convolve_data_by_product(c, dy, w, dx);
  const Floats packed(by.library().packed_size());
  by.library().pack(w, packed);
  by.data(dy, packed, dx);
}

void convolve_weights(const Convolution& c, const float* x, const float* dy, float* dw) {
  if (c.batch == 0) {
    std::fill_n(dw, c.out * c.group_in() * c.taps(), 0.0f);
    return;
  }
  if (takes_winograd(c)) return convolve_weights_by_winograd(c, x, dy, dw);
  const Index images = ceil_div(c.batch, weight_segments(c));  // per segment
  const Index pieces = ceil_div(c.batch, images);
  Convolution piece = c, last = c;
  piece.batch = images;
  last.batch = c.batch - (pieces - 1) * images;
  const auto find = [](const Convolution& of) {
    return OnednnConvolution::find(ConvolutionPart::weights, of, false, 1);
  };
  const auto library = find(piece);
  const auto of_last = library ? find(last) : nullptr;
  // Sums over segments require the same order of weights.
  if (!of_last || !of_last->packs_as(*library)) return convolve_weights_by_product(c, x, dy, dw);
  const Index size = library->packed_size();
  const Floats sums(pieces * size);
  parallel_for(pieces, 1, [&](Index begin, Index end) {
    const Floats scratch(std::max(library->scratch_size(), of_last->scratch_size()));
    for (Index p = begin; p < end; ++p) {
      const Index image = p * images;
      (p + 1 < pieces ? library : of_last)
          ->weights(x + image * c.pixels() * c.in, dy + image * c.output_positions() * c.out,
                    sums + p * size, scratch);
    }
  });
  parallel_for(size, Index{1} << 14, [&](Index begin, Index end) {
    for (Index p = 1; p < pieces; ++p)
      for (Index i = begin; i < end; ++i) sums[i] += sums[p * size + i];
  });
  library->unpack(sums, dw);
}

struct PackedWeightCache::State {
  struct CachedWeights {
    Convolution c;
    bool has_bias;
    int threads;
    std::shared_ptr<const ByLibrary> library;  // nullptr: Winograd
    std::shared_ptr<const Floats> weights;
  };
  std::mutex lock;
  bool was_used = false;
  std::vector<CachedWeights> all;  // one per batch size

  // The packed weight; nullptr if none is cached.
  std::shared_ptr<const CachedWeights> find(const Convolution& c, const float* w, bool has_bias);
};

std::shared_ptr<const PackedWeightCache::State::CachedWeights> PackedWeightCache::State::find(
    const Convolution& c, const float* w, bool has_bias) {
  const std::lock_guard hold(lock);
  if (!std::exchange(was_used, true)) return nullptr;
  const int team = threads();
  const bool by_tiles = takes_winograd(c);
  // Weights transformed for Winograd do not depend on the extents of x.
  const auto same = [&](const CachedWeights& k) {
    return by_tiles ? !k.library
                    : k.library && k.c == c && k.has_bias == has_bias && k.threads == team;
  };
  const auto at = std::ranges::find_if(all, same);
  if (at != all.end()) return std::make_shared<const CachedWeights>(*at);
  CachedWeights made{c, has_bias, team, nullptr, nullptr};
  if (by_tiles) {
    auto weights = std::make_shared<const Floats>(winograd_filter_size(c));
    winograd_filter(c, w, *weights);
    made.weights = std::move(weights);
  } else {
    const auto by = std::make_shared<const ByLibrary>(ConvolutionPart::forward, c, has_bias);
    if (!*by) return nullptr;
    auto weights = std::make_shared<const Floats>(by->library().packed_size());
    by->library().pack(w, *weights);
    made.library = by;
    made.weights = std::move(weights);
  }
  constexpr std::size_t most = 4;
  if (all.size() == most) all.erase(all.begin());
  all.push_back(made);
  return std::make_shared<const CachedWeights>(std::move(made));
}

PackedWeightCache::PackedWeightCache() : state_(std::make_unique<State>()) {}
PackedWeightCache::PackedWeightCache(PackedWeightCache&&) noexcept = default;
PackedWeightCache::~PackedWeightCache() = default;

void PackedWeightCache::convolve(const Convolution& c, const float* x, const float* w,
                                 const float* b, float* y, const ConvolutionEnd& end) const {
  if (c.batch == 0) return;
  const auto cached = state_->find(c, w, b != nullptr);
  if (!cached) return sten::convolve(c, x, w, b, y, end);
  if (!cached->library) return convolve_by_winograd_filter(c, x, *cached->weights, b, y, end);
  cached->library->forward(x, *cached->weights, b, y, end);
}

}  // namespace sten
