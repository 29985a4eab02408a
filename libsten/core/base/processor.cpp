// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/processor.h"

#include <sys/utsname.h>

#include <fstream>
#include <map>

namespace sten {

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  std::map<std::string, std::string> facts;  // first processor only
  for (std::string line; std::getline(in, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    const std::size_t end = line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1);
    if (colon != line.npos && end != line.npos && colon + 2 <= line.size())
      facts[line.substr(0, end + 1)] = line.substr(colon + 2);
  }
  if (facts.contains("model name")) {
    std::string name = facts["model name"];
    if (facts.contains("cpu family") && facts.contains("model"))
      name += " (family " + facts["cpu family"] + " model " + facts["model"] + ")";
    return name;
  }
  utsname system{};
  uname(&system);
  return system.machine;
}

}  // namespace sten
