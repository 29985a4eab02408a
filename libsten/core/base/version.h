// SPDX-License-Identifier: Apache-2.0
// Version of the library and the programs, such as "1.0.0".
#pragma once
#include <string_view>

namespace sten {

std::string_view version();

}  // namespace sten
