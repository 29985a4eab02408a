// SPDX-License-Identifier: Apache-2.0
// The processor that runs this process.
#pragma once
#include <string>

namespace sten {

// The system's name, such as "AMD EPYC 9B45 (family 26 model 17)". Different processors may have
// the same name.
std::string cpu_name();

}  // namespace sten
