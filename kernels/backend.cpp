// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "kernels/cuda/backend.h"

namespace sten::kernels::cuda {
namespace {

std::atomic<const Backend*> replacement = nullptr;

}  // namespace

const Backend* backend() {
  const Backend* other = replacement;
  return other ? other : true_backend();
}
void set_backend(const Backend* other) { replacement = other; }

}  // namespace sten::kernels::cuda
