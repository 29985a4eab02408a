// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "kernels/cuda/backend.h"
#include "kernels/cuda/plugin.h"
#include "kernels/plugin.h"

namespace sten::kernels::cuda {
namespace {

std::atomic<const Backend*> replacement = nullptr;

struct Loaded {
  const Backend* backend;
  std::string absence;
};

Loaded load() {
  const Plugin plugin = load_plugin(plugin::file);
  if (!plugin.library)
    return {nullptr, plugin.error.empty()
                         ? std::string("CUDA support is not installed (") + plugin::file + ")"
                         : plugin.error};
  const auto version = plugin.symbol<plugin::Version>(plugin::version_name);
  const auto make = plugin.symbol<plugin::Make>(plugin::make_name);
  if (!version || !make || std::string(version()) != STEN_VERSION)
    return {nullptr, plugin.path + ": expected the CUDA kernels of sten " + STEN_VERSION +
                         ", got " + (version ? version() : "another library")};
  const Backend* backend = make();
  return {backend, backend ? "" : "no CUDA device found"};
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

}  // namespace

const Backend* backend() {
  const Backend* other = replacement;
  return other ? other : true_backend();
}
void set_backend(const Backend* other) { replacement = other; }
const Backend* true_backend() { return loaded().backend; }
const std::string& absence() { return loaded().absence; }

}  // namespace sten::kernels::cuda
