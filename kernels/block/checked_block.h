// SPDX-License-Identifier: Apache-2.0
// A Block (block.h) that runs its threads in random order and detects races between them.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/block/block.h"

namespace sten::kernels {

class CheckedBlock : public Together<CheckedBlock> {
 public:
  CheckedBlock(int threads, std::size_t bytes, std::uint64_t seed);

  // Errors so far: reads or writes of an element that another thread writes in the same phase,
  // reads of uninitialized elements or beyond an array, and accesses between phases other than
  // read().
  const std::vector<std::string>& reports() const { return reports_; }
  std::size_t used() const { return layout_.used(); }

  template <class T>
  class Ref;
  template <class T>
  class Shared;

  int threads() const { return static_cast<int>(order_.size()); }
  template <class T>
  Shared<T> shared(std::int64_t n);
  std::size_t mark() const { return layout_.used(); }
  void reset(std::size_t mark) { layout_.reset(mark); }
  template <class F>
  void for_each_thread(F&& f) {
    begin_phase();
    for (const int t : order_) {
      thread_ = t;
      f(t);
      if (!copies_.empty()) report("a copy that its thread did not end");
      copies_.clear();
    }
    thread_ = none;
  }
  template <class T>
  T read(const Shared<T>& s, std::int64_t i);
  template <class T>
  void add(const Shared<T>& s, std::int64_t i, T v);
  template <class T>
  void add_global(T* p, T v) {
    if (thread_ == none) report("an atomic sum between phases");
    *p += v;
  }
  void or_bits(std::uint8_t* bits, std::int64_t word, std::uint32_t v) {
    if (thread_ == none) report("bits that are set between phases");
    or_bits_of(bits, word, v);
  }
  template <class T>
  void copy_later(const Shared<T>& s, std::int64_t i, const T* p);
  void end_copies() {
    for (const auto& copy : copies_) copy();
    copies_.clear();
  }
  template <class T>
  using PerThread = EachThreads<T>;
  template <class T>
  EachThreads<T> per_thread() const {
    return EachThreads<T>(threads());
  }

 private:
  enum class Kind { read, write, add };
  static constexpr int none = -1, several = -2;

  // For one element and each kind of access: the last phase, and its thread.
  struct Past {
    std::int64_t phase[3] = {none, none, none};
    int thread[3] = {none, none, none};
    bool is_written = false;
  };

  void begin_phase();
  // Returns false if element i does not exist.
  bool note(Kind kind, std::vector<Past>& past, std::int64_t i);
  void report(const std::string& what);

  std::vector<int> order_;
  std::mt19937_64 random_;
  std::vector<std::byte> memory_;
  std::vector<std::unique_ptr<std::vector<Past>>> pasts_;
  std::vector<std::string> reports_;
  std::vector<std::function<void()>> copies_;  // of the current thread and phase
  SharedLayout layout_;
  std::int64_t phase_ = 0;
  int thread_ = none;
};

template <class T>
class CheckedBlock::Ref {
 public:
  Ref(CheckedBlock& b, T* data, std::vector<Past>& past, std::int64_t i)
      : b_(b), data_(data), past_(past), i_(i) {}
  operator T() const { return b_.note(Kind::read, past_, i_) ? data_[i_] : T{}; }
  const Ref& operator=(T v) const {
    if (b_.note(Kind::write, past_, i_)) data_[i_] = v;
    return *this;
  }
  const Ref& operator=(const Ref& v) const { return *this = static_cast<T>(v); }
  Ref(const Ref&) = default;

 private:
  CheckedBlock& b_;
  T* data_;
  std::vector<Past>& past_;
  std::int64_t i_;
};

template <class T>
class CheckedBlock::Shared {
 public:
  Shared() = default;
  Shared(CheckedBlock& b, T* data, std::vector<Past>& past) : b_(&b), data_(data), past_(&past) {}
  Ref<T> operator[](std::int64_t i) const { return Ref<T>(*b_, data_, *past_, i); }

 private:
  friend class CheckedBlock;
  CheckedBlock* b_ = nullptr;
  T* data_ = nullptr;
  std::vector<Past>* past_ = nullptr;
};

template <class T>
CheckedBlock::Shared<T> CheckedBlock::shared(std::int64_t n) {
  const std::size_t at = layout_.take<T>(n);
  if (layout_.used() > memory_.size()) throw std::length_error("shared memory is used up");
  pasts_.push_back(std::make_unique<std::vector<Past>>(static_cast<std::size_t>(n)));
  return {*this, reinterpret_cast<T*>(memory_.data() + at), *pasts_.back()};
}

template <class T>
T CheckedBlock::read(const Shared<T>& s, std::int64_t i) {
  if (thread_ != none) report("a read between phases within one");
  if (i < 0 || i >= static_cast<std::int64_t>(s.past_->size())) {
    report("a read between phases beyond an array");
    return T{};
  }
  if (!(*s.past_)[static_cast<std::size_t>(i)].is_written) report("a read of what nobody wrote");
  return s.data_[i];
}

template <class T>
void CheckedBlock::add(const Shared<T>& s, std::int64_t i, T v) {
  if (note(Kind::add, *s.past_, i)) s.data_[i] += v;
}

template <class T>
void CheckedBlock::copy_later(const Shared<T>& s, std::int64_t i, const T* p) {
  static_assert(sizeof(T) == 16);
  if (reinterpret_cast<std::uintptr_t>(p) % 16 != 0) report("a copy from what is not aligned");
  if (note(Kind::write, *s.past_, i)) copies_.push_back([to = s.data_ + i, p] { *to = *p; });
}

inline CheckedBlock::CheckedBlock(int threads, std::size_t bytes, std::uint64_t seed)
    : order_(static_cast<std::size_t>(threads)), random_(seed), memory_(bytes) {
  std::iota(order_.begin(), order_.end(), 0);
}

inline void CheckedBlock::begin_phase() {
  if (thread_ != none) report("a phase within a phase");
  ++phase_;
  std::shuffle(order_.begin(), order_.end(), random_);
}

inline bool CheckedBlock::note(Kind kind, std::vector<Past>& all, std::int64_t i) {
  static constexpr const char* names[] = {"read", "write", "atomic sum"};
  if (i < 0 || i >= static_cast<std::int64_t>(all.size())) {
    report(std::string("a ") + names[static_cast<int>(kind)] + " beyond an array");
    return false;
  }
  Past& past = all[static_cast<std::size_t>(i)];
  if (thread_ == none)
    report(std::string("a ") + names[static_cast<int>(kind)] + " between phases");
  if (kind != Kind::write && !past.is_written) report("a read of what nobody wrote");
  for (const Kind before : {Kind::read, Kind::write, Kind::add}) {
    const auto k = static_cast<std::size_t>(before);
    // Two reads, or two atomic sums, do not conflict.
    if (past.phase[k] == phase_ && past.thread[k] != thread_ &&
        !(before == kind && kind != Kind::write))
      report(std::string("a ") + names[static_cast<int>(kind)] + " by one thread and a " +
             names[k] + " by another in one phase");
  }
  const auto k = static_cast<std::size_t>(kind);
  const bool is_other = past.phase[k] == phase_ && past.thread[k] != thread_;
  past.phase[k] = phase_;
  past.thread[k] = is_other ? several : thread_;
  past.is_written = past.is_written || kind != Kind::read;
  return true;
}

inline void CheckedBlock::report(const std::string& what) {
  if (reports_.size() < 10) reports_.push_back(what);
}

}  // namespace sten::kernels
