#include "libsten/linalg/convolution.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/isa.h"
#include "libsten/base/parallel.h"
#include "libsten/linalg/convolution_product.h"
#include "libsten/linalg/onednn_convolution.h"
#include "libsten/linalg/winograd.h"

namespace sten {
namespace {

// Aligned for the library; left as it is.
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

// Measured on Zen 3 with AVX2: 2 to 3.5 times faster than oneDNN's direct convolutions from 32
// channels on, slower at 16 to 16. With few tiles the transform of the weights is most of the work.
bool takes_winograd(const Convolution& c) {
  const Index least = 16, both = 48, tiles = 16;
  return has_winograd(c) && std::min(c.in, c.out) >= least && c.in + c.out >= both &&
         winograd_tiles(c) >= tiles && !winograd_is_off();
}

}  // namespace

void convolve(const Convolution& c, const float* x, const float* w, const float* b, float* y) {
  if (c.batch == 0) return;
  if (takes_winograd(c)) return convolve_by_winograd(c, x, w, b, y);
  const auto library =
      OnednnConvolution::find(ConvolutionPart::forward, c, b != nullptr, threads());
  if (!library) return convolve_by_product(c, x, w, b, y);
  const Floats packed(library->packed_size()), scratch(library->scratch_size());
  library->pack(w, packed);
  library->forward(x, packed, b, y, scratch);
}

void convolve_data(const Convolution& c, const float* dy, const float* w, float* dx) {
  if (c.batch == 0) return;
  if (takes_winograd(c)) return convolve_data_by_winograd(c, dy, w, dx);
  const auto library = OnednnConvolution::find(ConvolutionPart::data, c, false, threads());
  if (!library) return convolve_data_by_product(c, dy, w, dx);
  const Floats packed(library->packed_size()), scratch(library->scratch_size());
  library->pack(w, packed);
  library->data(dy, packed, dx, scratch);
}

void convolve_weights(const Convolution& c, const float* x, const float* dy, float* dw) {
  if (takes_winograd(c)) return convolve_weights_by_winograd(c, x, dy, dw);
  const Index images = ceil_div(c.batch, weight_pieces(c));  // of a piece
  const Index pieces = images == 0 ? 0 : ceil_div(c.batch, images);
  Convolution piece = c, last = c;
  piece.batch = images;
  last.batch = c.batch - (pieces - 1) * images;
  const auto find = [](const Convolution& of) {
    return OnednnConvolution::find(ConvolutionPart::weights, of, false, 1);
  };
  const auto library = c.batch > 0 ? find(piece) : nullptr;
  const auto of_last = library ? find(last) : nullptr;
  // Sums of pieces need one order of the weights.
  if (!of_last || !of_last->packs_as(*library)) return convolve_weights_by_product(c, x, dy, dw);
  const Index size = library->packed_size();
  const Floats sums(pieces * size);
  parallel_for(pieces, 1, [&](Index begin, Index end) {
    const Floats scratch(std::max(library->scratch_size(), of_last->scratch_size()));
    for (Index p = begin; p < end; ++p) {
      const Index image = p * images;
      (p + 1 < pieces ? library : of_last)
          ->weights(x + image * c.pixels() * c.in, dy + image * c.places() * c.out, sums + p * size,
                    scratch);
    }
  });
  parallel_for(size, Index{1} << 14, [&](Index begin, Index end) {
    for (Index p = 1; p < pieces; ++p)
      for (Index i = begin; i < end; ++i) sums[i] += sums[p * size + i];
  });
  library->unpack(sums, dw);
}

struct KeptWeights::State {
  struct Kept {
    Convolution c;
    bool has_bias;
    int threads;
    std::shared_ptr<const OnednnConvolution> library;  // nullptr: by minimal filtering
    std::shared_ptr<const Floats> weights;
  };
  std::mutex lock;
  bool was_used = false;
  std::vector<Kept> all;  // few: one for each size of batch

  // nullptr where nothing is kept of it.
  std::shared_ptr<const Kept> find(const Convolution& c, const float* w, bool has_bias);
};

std::shared_ptr<const KeptWeights::State::Kept> KeptWeights::State::find(const Convolution& c,
                                                                         const float* w,
                                                                         bool has_bias) {
  const std::lock_guard hold(lock);
  if (!std::exchange(was_used, true)) return nullptr;
  const int team = threads();
  const bool by_tiles = takes_winograd(c);
  // Transformed weights are the same for all extents of x.
  const auto same = [&](const Kept& k) {
    return by_tiles ? !k.library
                    : k.library && k.c == c && k.has_bias == has_bias && k.threads == team;
  };
  const auto at = std::ranges::find_if(all, same);
  if (at != all.end()) return std::make_shared<const Kept>(*at);
  Kept made{c, has_bias, team, nullptr, nullptr};
  if (by_tiles) {
    auto weights = std::make_shared<const Floats>(winograd_filter_size(c));
    winograd_filter(c, w, *weights);
    made.weights = std::move(weights);
  } else {
    made.library = OnednnConvolution::find(ConvolutionPart::forward, c, has_bias, team);
    if (!made.library) return nullptr;
    auto weights = std::make_shared<const Floats>(made.library->packed_size());
    made.library->pack(w, *weights);
    made.weights = std::move(weights);
  }
  constexpr std::size_t most = 4;
  if (all.size() == most) all.erase(all.begin());
  all.push_back(made);
  return std::make_shared<const Kept>(std::move(made));
}

KeptWeights::KeptWeights() : state_(std::make_unique<State>()) {}
KeptWeights::KeptWeights(KeptWeights&&) noexcept = default;
KeptWeights::~KeptWeights() = default;

void KeptWeights::convolve(const Convolution& c, const float* x, const float* w, const float* b,
                           float* y) const {
  if (c.batch == 0) return;
  const auto kept = state_->find(c, w, b != nullptr);
  if (!kept) return sten::convolve(c, x, w, b, y);
  if (!kept->library) return convolve_by_winograd_filter(c, x, *kept->weights, b, y);
  const Floats scratch(kept->library->scratch_size());
  kept->library->forward(x, *kept->weights, b, y, scratch);
}

}  // namespace sten
