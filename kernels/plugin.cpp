// SPDX-License-Identifier: Apache-2.0
#include "kernels/plugin.h"

#include <unistd.h>

namespace sten::kernels {

Plugin load_plugin(const std::string& file) {
  Plugin plugin;
  Dl_info here;
  if (dladdr(reinterpret_cast<void*>(&load_plugin), &here) && here.dli_fname) {
    const std::string library = here.dli_fname;
    plugin.path = library.substr(0, library.rfind('/') + 1);
  }
  plugin.path += file;
  if (access(plugin.path.c_str(), F_OK) != 0) return plugin;
  plugin.library = dlopen(plugin.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!plugin.library) plugin.error = dlerror();
  return plugin;
}

}  // namespace sten::kernels
