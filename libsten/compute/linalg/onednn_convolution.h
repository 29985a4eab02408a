// SPDX-License-Identifier: Apache-2.0
// Convolutions by oneDNN, loaded at first use.
#pragma once
#include <memory>

#include "kernels/convolution.h"

namespace sten {

using kernels::Convolution;

enum class ConvolutionPart { forward, data, weights };

// One pass of a convolution, prepared for its extents and number of threads. Packed weights are in
// an order of the library. Thread-safe.
class OnednnConvolution {
 public:
  using Index = Convolution::Index;

  // Made at the first call and cached with the most recent others. nullptr if the library does not
  // load or does not support the convolution or the ISA of STEN_ISA.
  static std::shared_ptr<const OnednnConvolution> find(ConvolutionPart part, const Convolution& c,
                                                       bool has_bias, int threads);
  virtual ~OnednnConvolution() = default;

  // Floats of packed weights, including padding.
  virtual Index packed_size() const = 0;
  // Whether both have the same order of packed weights.
  virtual bool packs_as(const OnednnConvolution& other) const = 0;
  // Packs w [out, in / groups, kernel...], and unpacks it.
  virtual void pack(const float* w, float* packed) const = 0;
  virtual void unpack(const float* packed, float* w) const = 0;

  // forward: computes y from x, weights and b (nullptr without bias). data: dx from dy and weights.
  // weights: packed dw from x and dy. `scratch` has scratch_size() floats, aligned to 64 bytes.
  virtual Index scratch_size() const = 0;
  virtual void forward(const float* x, const float* packed, const float* b, float* y,
                       float* scratch) const = 0;
  virtual void data(const float* dy, const float* packed, float* dx, float* scratch) const = 0;
  virtual void weights(const float* x, const float* dy, float* packed, float* scratch) const = 0;
};

}  // namespace sten
