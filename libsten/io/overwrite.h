// How messages name the option that lets an output be replaced.
#pragma once
#include <string>

namespace sten {

// "FILE: exists; overwrite = true replaces it". A program sets it to its flag before it writes
// anything.
inline std::string overwrite_option = "overwrite = true";

}  // namespace sten
