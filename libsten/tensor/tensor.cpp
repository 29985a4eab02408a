#include "libsten/tensor/tensor.h"

namespace sten {

std::size_t Tensor::bytes() const {
  std::size_t n = 0;
  for (const Part& p : save().parts) n += p.bytes.size();
  return n;
}

}  // namespace sten
