// SPDX-License-Identifier: Apache-2.0
// The option that replaces existing outputs, as named in messages.
#pragma once
#include <string>

namespace sten {

// "FILE: exists; overwrite = true replaces it". Programs set it to their flag before they write.
inline std::string overwrite_option = "overwrite = true";

}  // namespace sten
