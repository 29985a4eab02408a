// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/name.h"

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace sten {
namespace {

struct Names {
  std::shared_mutex lock;
  std::deque<std::string> texts{""};  // by id; elements of a deque keep their address
  std::unordered_map<std::string_view, std::uint32_t> ids{{"", 0}};
};

// Never destroyed: names outlive static objects.
Names& names() {
  static Names& all = *new Names;
  return all;
}

}  // namespace

Name::Name(std::string_view text) {
  Names& all = names();
  {
    const std::shared_lock hold(all.lock);
    const auto at = all.ids.find(text);
    if (at != all.ids.end()) {
      id_ = at->second;
      return;
    }
  }
  const std::unique_lock hold(all.lock);
  const auto at = all.ids.find(text);
  if (at != all.ids.end()) {
    id_ = at->second;
    return;
  }
  id_ = static_cast<std::uint32_t>(all.texts.size());
  all.ids.emplace(all.texts.emplace_back(text), id_);
}

std::string_view Name::text() const {
  Names& all = names();
  const std::shared_lock hold(all.lock);
  return all.texts[id_];
}

}  // namespace sten
