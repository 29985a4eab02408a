// Names in a line of text.
#pragma once
#include <string>
#include <vector>

namespace sten {

// "a, b, c"; of more than `limit` names the first ones and a count: "a, b and 3 more". Printable.
std::string name_list(const std::vector<std::string>& names, std::size_t limit = 10);

}  // namespace sten
