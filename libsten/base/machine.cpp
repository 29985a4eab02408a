#include "libsten/base/machine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "libsten/base/error.h"

namespace sten {

std::uint64_t machine_memory() {
  std::uint64_t least = UINT64_MAX;
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0)
    least = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  for (const char* file :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::uint64_t limit = 0;  // or "max"
    if (std::ifstream(file) >> limit) least = std::min(least, limit);
  }
  rlimit own{};
  if (getrlimit(RLIMIT_AS, &own) == 0 && own.rlim_cur != RLIM_INFINITY)
    least = std::min<std::uint64_t>(least, own.rlim_cur);
  return least;
}

void check_memory(double bytes, const std::string& what) {
  const auto has = static_cast<double>(machine_memory());
  if (bytes > has) fail("{} takes {:.3g} GB, and there are {:.3g}", what, bytes / 1e9, has / 1e9);
}

}  // namespace sten
