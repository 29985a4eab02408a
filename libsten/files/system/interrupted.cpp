// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/interrupted.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "libsten/core/base/text.h"
#include "libsten/files/system/paths.h"
#include "libsten/files/system/unfinished.h"

namespace sten {
namespace {

using FileId = std::pair<dev_t, ino_t>;

struct Watched {
  std::string path, shown;
  std::optional<FileId> before;  // to detect an output that replaced a file
};
struct Watch {
  std::string program;
  std::vector<Watched> outputs;
  bool on_terminal;
};
// Never freed, since a signal may come at any time.
std::atomic<const Watch*> watch{nullptr};

// Double buffer: the handler reads one text while the other is written.
char resume_text[2][1024];
std::atomic<int> current_text{0};
std::mutex resume_lock;

std::optional<FileId> id_of(const char* path) {
  struct stat s;
  if (stat(path, &s) != 0) return std::nullopt;
  return FileId(s.st_dev, s.st_ino);
}

// Text in a buffer of fixed size, cut at its end.
class InterruptReport {
 public:
  void add(std::string_view text) {
    const std::size_t n = std::min(text.size(), sizeof(text_) - 1 - size_);
    std::memcpy(text_ + size_, text.data(), n);
    size_ += n;
  }
  void print() {
    text_[size_++] = '\n';
    (void)!write(STDERR_FILENO, text_, size_);
  }

 private:
  char text_[8192];
  std::size_t size_ = 0;
};

std::atomic<pid_t> ends_with_us{0};

// Prints the message, if outputs are watched.
void say_interrupted() noexcept {
  const Watch* w = watch;
  if (!w) return;
  InterruptReport line;
  if (w->on_terminal) line.add("\r\x1b[K");  // a progress bar
  line.add(w->program);
  line.add(": interrupted");
  bool unfinished = false;
  const char* before = ": ";
  for (const Watched& o : w->outputs) {
    const std::optional<FileId> now = id_of(o.path.c_str());
    const bool is_new = now && now != o.before;
    unfinished |= !is_new;
    line.add(before);
    line.add(o.shown);
    line.add(is_new ? " is written" : o.before ? " is as it was" : " is not written");
    before = ", ";
  }
  if (unfinished) line.add("; what was unfinished is removed");
  if (const char* text = resume_text[current_text]; *text) {
    line.add("; ");
    line.add(text);
  }
  line.print();
}

void on_interrupt(int signal) {
  set_ending();
  // The group may be writing to the outputs that are removed.
  if (const pid_t group = ends_with_us) kill(-group, SIGTERM);
  cleanup_unfinished_outputs();
  say_interrupted();
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

void watch_outputs(const std::string& program, const std::vector<std::string>& outputs) {
  auto* w = new Watch{program, {}, isatty(STDERR_FILENO) == 1};
  for (const std::string& path : outputs)
    if (!is_stream(path)) w->outputs.push_back({path, quote(path), id_of(path.c_str())});
  watch = w;
}

void set_resume_hint(const std::string& text) {
  const std::lock_guard hold(resume_lock);
  wait_if_ending();
  const int next = 1 - current_text;
  resume_text[next][text.copy(resume_text[next], sizeof(resume_text[next]) - 1)] = 0;
  current_text = next;
}

EndsWithUs::EndsWithUs(pid_t group) { ends_with_us = group; }
EndsWithUs::~EndsWithUs() { ends_with_us = 0; }

void install_interrupt_handlers() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old = {};
    sigaction(signal, nullptr, &old);
    if (old.sa_handler != SIG_IGN) handle(signal, on_interrupt);
  }
  handle(SIGPIPE, on_closed_pipe);
}

}  // namespace sten
