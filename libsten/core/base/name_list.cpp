// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/name_list.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {

std::string name_list(const std::vector<std::string>& names, std::size_t limit) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), limit); ++i)
    text += (i ? ", " : "") + printable(names[i]);
  if (names.size() > limit) text += fmt::format(" and {} more", names.size() - limit);
  return text;
}

}  // namespace sten
