// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/unfinished.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <iterator>
#include <span>
#include <string_view>

#include "libsten/core/base/error.h"
#include "libsten/core/base/hash.h"
#include "libsten/files/system/fd.h"
#include "libsten/files/system/remove_tree.h"

namespace sten {
namespace {

enum : int { is_free, is_claimed, is_live };

struct Slot {
  std::atomic<int> state{is_free};
  int directory = -1;
  char name[256] = {};  // NAME_MAX and the terminating zero
};
// One per output being written: as many as there may be threads.
Slot slots[1024];
static_assert(std::atomic<int>::is_always_lock_free);

std::atomic<bool> is_ending{false};

constexpr const char* letters = "abcdefghijklmnopqrstuvwxyz012345";

std::string name_beside(const std::string& target, std::string_view mark) {
  // Cut between UTF-8 characters.
  std::size_t n = std::min<std::size_t>(target.size(), 200);
  while (n > 0 && n < target.size() && (target[n] & 0xc0) == 0x80) --n;
  std::string name = fmt::format(".{}.sten-{}-", target.substr(0, n), mark);
  std::uint64_t hash = hash_bytes(0, std::as_bytes(std::span(target)));
  hash = hash_bytes(hash, std::as_bytes(std::span(mark)));
  for (int i = 0; i < 12; ++i, hash >>= 5) name += letters[hash % 32];
  return name;
}

}  // namespace

std::string hidden_name(const std::string& target, int number) {
  return name_beside(target, fmt::to_string(number));
}

std::string backup_name(const std::string& target) { return name_beside(target, "old"); }

bool lock_name(int fd, int directory, const char* name) {
  // Without locks, the state is unknown, and nothing is removed as stale.
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat ours, named;
  return fstat(fd, &ours) == 0 && fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

void remove_stale(int directory, const std::string& name) {
  const Fd left(openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!left || flock(left.get(), LOCK_EX | LOCK_NB) != 0) return;
  if (lock_name(left.get(), directory, name.c_str())) remove_tree(directory, name.c_str());
}

void wait_if_ending() {
  while (is_ending) pause();
}

void set_ending() noexcept { is_ending = true; }

UnfinishedName::UnfinishedName(int directory, const std::string& name) {
  wait_if_ending();
  for (std::size_t i = 0; i < std::size(slots); ++i) {
    int expected = is_free;
    if (!slots[i].state.compare_exchange_strong(expected, is_claimed)) continue;
    slots[i].directory = directory;
    slots[i].name[name.copy(slots[i].name, sizeof(slots[i].name) - 1)] = 0;
    slots[i].state = is_live;
    slot_ = static_cast<int>(i);
    return;
  }
  fail("expected at most {} outputs at the same time", std::size(slots));
}

UnfinishedName::~UnfinishedName() {
  if (slot_ < 0) return;
  remove_tree(slots[slot_].directory, slots[slot_].name);
  forget();
}

const char* UnfinishedName::c_str() const { return slots[slot_].name; }

void UnfinishedName::forget() {
  slots[slot_].state = is_free;
  slot_ = -1;
}

void cleanup_unfinished_outputs() noexcept {
  // Other threads keep running and may add files to a directory while it is emptied, so repeat.
  constexpr int rounds = 200;
  constexpr timespec pause = {0, 1'000'000};
  for (const Slot& slot : slots)
    for (int i = 0; i < rounds && slot.state == is_live; ++i) {
      remove_tree(slot.directory, slot.name);
      if (faccessat(slot.directory, slot.name, F_OK, AT_SYMLINK_NOFOLLOW) != 0) break;
      nanosleep(&pause, nullptr);
    }
}

}  // namespace sten
