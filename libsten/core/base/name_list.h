// SPDX-License-Identifier: Apache-2.0
// Lists of names in messages.
#pragma once
#include <string>
#include <vector>

namespace sten {

// Returns "a, b, c", printable. Beyond `limit` names, the first names and a count: "a, b and 3
// more".
std::string name_list(const std::vector<std::string>& names, std::size_t limit = 10);

}  // namespace sten
