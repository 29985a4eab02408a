// What is computed from a value when it is first needed, and kept with it.
#pragma once
#include <memory>
#include <mutex>

namespace sten {

// A member of a value that does not change any more, such as a layout in a Tensor. A copy is free
// to change before it is used, so it starts without.
class Derived {
 public:
  Derived() = default;
  Derived(const Derived&) {}
  Derived& operator=(const Derived&) {
    const std::lock_guard hold(lock_);
    kept_ = nullptr;
    return *this;
  }

  bool is_made() const { return kept() != nullptr; }

  // make() at the first call; threads that come at once may all make it, and one result is kept.
  // Always of the same T.
  template <class T, class F>
  std::shared_ptr<const T> get(F&& make) const {
    if (auto kept = this->kept()) return std::static_pointer_cast<const T>(kept);
    // Without the lock: make() may wait for threads that ask for it too.
    auto made = std::make_shared<const T>(make());
    const std::lock_guard hold(lock_);
    if (!kept_) kept_ = std::move(made);
    return std::static_pointer_cast<const T>(kept_);
  }

 private:
  std::shared_ptr<const void> kept() const {
    const std::lock_guard hold(lock_);
    return kept_;
  }

  mutable std::mutex lock_;
  mutable std::shared_ptr<const void> kept_;
};

}  // namespace sten
