// SPDX-License-Identifier: Apache-2.0
// Derived values: values that are computed from another value at first use and cached with it.
#pragma once
#include <memory>
#include <mutex>
#include <typeindex>
#include <utility>
#include <vector>

namespace sten {

// The cache, a member of an immutable value such as a layout in a Tensor. Copies start empty, since
// the copy of a value may be changed before use.
class Derived {
 public:
  Derived() = default;
  Derived(const Derived&) {}
  Derived& operator=(const Derived&) {
    clear();
    return *this;
  }

  // The derived value of type T, from make() at the first call. Concurrent first calls may all run
  // make(); one result is cached.
  template <class T, class F>
  std::shared_ptr<const T> get(F&& make) const {
    const std::type_index type = typeid(T);
    if (auto cached = this->cached(type)) return std::static_pointer_cast<const T>(cached);
    // Outside the lock: make() may wait for threads that call get() too.
    auto made = std::make_shared<const T>(make());
    const std::lock_guard hold(lock_);
    if (auto cached = find(type)) return std::static_pointer_cast<const T>(cached);
    cache_.emplace_back(type, made);
    return made;
  }
  // Frees the cached values; the next get() computes them again.
  void clear() const {
    const std::lock_guard hold(lock_);
    cache_.clear();
  }

 private:
  std::shared_ptr<const void> cached(std::type_index type) const {
    const std::lock_guard hold(lock_);
    return find(type);
  }
  std::shared_ptr<const void> find(std::type_index type) const {
    for (const auto& [known, cached] : cache_)
      if (known == type) return cached;
    return nullptr;
  }

  mutable std::mutex lock_;
  mutable std::vector<std::pair<std::type_index, std::shared_ptr<const void>>> cache_;
};

}  // namespace sten
