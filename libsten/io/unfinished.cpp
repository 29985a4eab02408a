#include "libsten/io/unfinished.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <iterator>

#include "libsten/base/error.h"
#include "libsten/io/remove_tree.h"

namespace sten {
namespace {

enum : int { is_free, is_claimed, is_live };

struct Slot {
  std::atomic<int> state{is_free};
  int directory = -1;
  char name[256] = {};  // NAME_MAX and the terminating zero
};
// One per output that is being written at the same time.
Slot slots[64];
static_assert(std::atomic<int>::is_always_lock_free);

std::atomic<pid_t> ends_with_us{0};

std::string hidden_name(const std::string& target) {
  unsigned char random[6];
  if (getrandom(random, sizeof(random), 0) != sizeof(random))
    fail("the system gives no random numbers");
  std::string name = hidden_prefix(target);
  for (unsigned char r : random) name += "abcdefghijklmnopqrstuvwxyz012345"[r % 32];
  return name;
}

void on_interrupt(int signal) {
  // It may be writing into what is removed.
  if (const pid_t group = ends_with_us) kill(-group, SIGTERM);
  cleanup_unfinished_outputs();
  _exit(128 + signal);
}

void on_closed_pipe(int signal) {
  cleanup_unfinished_outputs();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

// Cut between UTF-8 characters.
std::string hidden_prefix(const std::string& target) {
  std::size_t n = std::min<std::size_t>(target.size(), 200);
  while (n > 0 && n < target.size() && (target[n] & 0xc0) == 0x80) --n;
  return "." + target.substr(0, n) + ".sten-";
}

UnfinishedName::UnfinishedName(int directory, const std::string& target) {
  const std::string name = hidden_name(target);
  for (std::size_t i = 0; i < std::size(slots); ++i) {
    int expected = is_free;
    if (!slots[i].state.compare_exchange_strong(expected, is_claimed)) continue;
    slots[i].directory = directory;
    slots[i].name[name.copy(slots[i].name, sizeof(slots[i].name) - 1)] = 0;
    slots[i].state = is_live;
    slot_ = static_cast<int>(i);
    return;
  }
  fail("more than {} outputs at the same time", std::size(slots));
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

EndsWithUs::EndsWithUs(pid_t group) { ends_with_us = group; }
EndsWithUs::~EndsWithUs() { ends_with_us = 0; }

void cleanup_unfinished_outputs() noexcept {
  for (const Slot& slot : slots)
    if (slot.state == is_live) remove_tree(slot.directory, slot.name);
}

void install_interrupt_handlers() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old = {};
    sigaction(signal, nullptr, &old);
    if (old.sa_handler != SIG_IGN) handle(signal, on_interrupt);
  }
  handle(SIGPIPE, on_closed_pipe);
}

}  // namespace sten
