// The version of the library and of the programs, "0.1.0".
#pragma once
#include <string_view>

namespace sten {

std::string_view version();

}  // namespace sten
