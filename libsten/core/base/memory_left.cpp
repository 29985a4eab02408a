// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/memory_left.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "libsten/core/base/error.h"

namespace sten {
namespace {

constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();

// The number in a file of /proc or /sys; none for "max".
std::optional<std::uint64_t> scalar_in(const std::string& path) {
  std::uint64_t n = 0;
  std::ifstream in(path);
  return in >> n ? std::optional(n) : std::nullopt;
}

// The number after a word at the start of a line.
std::uint64_t number_of(const std::string& path, const std::string& word) {
  std::ifstream in(path);
  std::string first, rest;
  for (std::uint64_t n = 0; in >> first; std::getline(in, rest))
    if (first == word && in >> n) return n;
  return 0;
}

// Bytes left in a control group; the file names differ between versions 1 and 2.
std::uint64_t left_in(const std::string& group, const char* limit, const char* usage,
                      const char* cache) {
  const auto most = scalar_in(group + limit), used = scalar_in(group + usage);
  if (!most || !used) return unknown;
  const std::uint64_t page_cache =
      *used - std::min(*used, number_of(group + "/memory.stat", cache));
  return *most - std::min(*most, page_cache);
}

std::uint64_t left_in_groups() {
  std::uint64_t left = unknown;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::size_t path = line.find(":/");
    if (path == line.npos) continue;
    const bool second = line.starts_with("0::");
    if (!second && line.find(":memory:") == line.npos) continue;
    const std::string root = second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    // Every parent group has a limit of its own.
    for (std::string group = line.substr(path + 1);; group.resize(group.rfind('/'))) {
      left = std::min(
          left, second ? left_in(root + group, "/memory.max", "/memory.current", "inactive_file")
                       : left_in(root + group, "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                 "total_inactive_file"));
      if (group.empty() || group.rfind('/') == group.npos) break;
    }
  }
  return left;
}

std::uint64_t left_of_addresses() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unknown;
  const std::uint64_t used =
      scalar_in("/proc/self/statm").value_or(0) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, used);
}

}  // namespace

std::uint64_t memory_left() {
  constexpr std::uint64_t kb = 1024;
  const std::uint64_t machine = number_of("/proc/meminfo", "MemAvailable:") * kb;
  const std::uint64_t swap = number_of("/proc/meminfo", "SwapFree:") * kb;
  return std::min({machine ? machine + swap : unknown, left_in_groups(), left_of_addresses()});
}

void check_memory(double bytes, const std::string& what) {
  const auto has = static_cast<double>(memory_left());
  if (bytes > has)
    fail("{}: {:.3g} GB of memory needed, {:.3g} GB available", what, bytes / 1e9, has / 1e9);
}

}  // namespace sten
