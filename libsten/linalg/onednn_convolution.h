// Convolutions by oneDNN's primitives, loaded when first needed.
#pragma once
#include <memory>

#include "kernels/convolution.h"

namespace sten {

using kernels::Convolution;

enum class ConvolutionPart { forward, data, weights };

// One part of a convolution made ready for its extents and a number of threads. Weights are in an
// order of the library's own, `packed`. Calls do not disturb each other.
class OnednnConvolution {
 public:
  using Index = Convolution::Index;

  // Made at the first call and kept, with those that were asked for last; nullptr where the library
  // is not there, STEN_ISA asks for an ISA that it does not know, or it has no such convolution.
  static std::shared_ptr<const OnednnConvolution> find(ConvolutionPart part, const Convolution& c,
                                                       bool has_bias, int threads);
  virtual ~OnednnConvolution() = default;

  // Floats, those of padding included.
  virtual Index packed_size() const = 0;
  // Whether both have one order.
  virtual bool packs_as(const OnednnConvolution& other) const = 0;
  // From w [out, in / groups, kernel...], and to it.
  virtual void pack(const float* w, float* packed) const = 0;
  virtual void unpack(const float* packed, float* w) const = 0;

  // forward: y of x, weights and b (nullptr without bias); data: dx of dy and weights; weights:
  // packed ones of x and dy. `scratch` has scratch_size() floats at a multiple of 64 bytes.
  virtual Index scratch_size() const = 0;
  virtual void forward(const float* x, const float* packed, const float* b, float* y,
                       float* scratch) const = 0;
  virtual void data(const float* dy, const float* packed, float* dx, float* scratch) const = 0;
  virtual void weights(const float* x, const float* dy, float* packed, float* scratch) const = 0;
};

}  // namespace sten
