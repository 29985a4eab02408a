// What this process runs on.
#pragma once
#include <string>

namespace sten {

// "AMD EPYC 9B45 (family 26 model 17)": as the system calls it, which may be the same for several.
std::string cpu_name();

}  // namespace sten
