// What is computed from a value when it is first needed, and kept with it.
#pragma once
#include <memory>
#include <mutex>
#include <typeindex>
#include <utility>
#include <vector>

namespace sten {

// A member of a value that does not change any more, such as a layout in a Tensor. A copy is free
// to change before it is used, so it starts without.
class Derived {
 public:
  Derived() = default;
  Derived(const Derived&) {}
  Derived& operator=(const Derived&) {
    const std::lock_guard hold(lock_);
    cache_.clear();
    return *this;
  }

  // make() at the first call for this T; threads that come at once may all make it, and one result
  // is kept.
  template <class T, class F>
  std::shared_ptr<const T> get(F&& make) const {
    const std::type_index type = typeid(T);
    if (auto cached = this->cached(type)) return std::static_pointer_cast<const T>(cached);
    // Without the lock: make() may wait for threads that ask for it too.
    auto made = std::make_shared<const T>(make());
    const std::lock_guard hold(lock_);
    if (auto cached = find(type)) return std::static_pointer_cast<const T>(cached);
    cache_.emplace_back(type, made);
    return made;
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
