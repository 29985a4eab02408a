#include "libsten/linalg/convolution.h"

#include <algorithm>
#include <vector>

#include "libsten/base/parallel.h"
#include "libsten/linalg/convolution_product.h"
#include "libsten/linalg/onednn_convolution.h"

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

}  // namespace

void convolve(const Convolution& c, const float* x, const float* w, const float* b, float* y) {
  if (c.batch == 0) return;
  const auto library =
      OnednnConvolution::find(ConvolutionPart::forward, c, b != nullptr, threads());
  if (!library) return convolve_by_product(c, x, w, b, y);
  const Floats packed(library->packed_size()), scratch(library->scratch_size());
  library->pack(w, packed);
  library->forward(x, packed, b, y, scratch);
}

void convolve_data(const Convolution& c, const float* dy, const float* w, float* dx) {
  if (c.batch == 0) return;
  const auto library = OnednnConvolution::find(ConvolutionPart::data, c, false, threads());
  if (!library) return convolve_data_by_product(c, dy, w, dx);
  const Floats packed(library->packed_size()), scratch(library->scratch_size());
  library->pack(w, packed);
  library->data(dy, packed, dx, scratch);
}

void convolve_weights(const Convolution& c, const float* x, const float* dy, float* dw) {
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

}  // namespace sten
