// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/mmap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/fd.h"
#include "libsten/files/system/unfinished.h"

namespace sten {
namespace {

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// A map that a fault can be attributed to. Maps are reused but never freed, and own their text, so
// that a signal handler can walk the list at any time.
struct RegisteredMap {
  std::atomic<bool> taken{true};
  std::atomic<std::uintptr_t> begin{0}, end{0};  // begin is 0 while other fields are invalid
  char name[512] = {};
  RegisteredMap* next = nullptr;
};
std::atomic<RegisteredMap*> registered_maps{nullptr};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);
static_assert(std::atomic<RegisteredMap*>::is_always_lock_free);

template <std::size_t N>
void copy_text(char (&to)[N], std::string_view from) {
  to[from.copy(to, N - 1)] = 0;
}

RegisteredMap* register_map(const std::byte* data, std::size_t size, const std::string& name) {
  RegisteredMap* map = registered_maps.load();
  for (; map; map = map->next)
    if (!map->taken.exchange(true)) break;
  if (!map) {
    map = new RegisteredMap;
    map->next = registered_maps.load();
    while (!registered_maps.compare_exchange_weak(map->next, map)) {
    }
  }
  copy_text(map->name, name);
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  map->end = begin + (size + page_size() - 1) / page_size() * page_size();
  map->begin = begin;
  return map;
}

void unregister_map(RegisteredMap* map) {
  map->begin = 0;
  map->taken = false;
}

char fault_program[64];
std::atomic_flag fault_told;

void on_fault(int signal, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  // si_code <= 0: another process sent the signal, and si_addr is undefined.
  const RegisteredMap* map = info->si_code > 0 ? registered_maps.load() : nullptr;
  for (; map; map = map->next) {
    const std::uintptr_t begin = map->begin;
    if (begin == 0 || address < begin || address >= map->end) continue;
    // Only one of the threads that fault prints the message.
    if (fault_told.test_and_set())
      for (;;) pause();
    char line[sizeof(fault_program) + sizeof(map->name) + 64];
    std::size_t n = 0;
    for (const char* part : {static_cast<const char*>(fault_program), ": ", map->name,
                             ": the file shrank during the run\n"}) {
      const std::size_t length = strlen(part);
      std::memcpy(line + n, part, length);
      n += length;
    }
    if (write(STDERR_FILENO, line, n) < 0) {
    }  // nothing can be printed
    cleanup_unfinished_outputs();
    _exit(1);
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

struct MappedFile::Map {
  std::string name;
  Fd fd;
  struct stat status = {};
  const std::byte* data = nullptr;
  std::size_t size = 0;
  RegisteredMap* registered = nullptr;

  ~Map() {
    if (!data) return;
    unregister_map(registered);
    munmap(const_cast<std::byte*>(data), size);
  }
};

MappedFile MappedFile::open(const std::string& path) {
  // Non-blocking, since opening a pipe would wait for its writer.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) fail("{}: {}", printable(path), errno_text(errno));
  struct stat s;
  if (fstat(fd.get(), &s) != 0) fail("{}: {}", printable(path), errno_text(errno));
  if (S_ISDIR(s.st_mode))
    fail("{}: expected one .safetensors file, got a directory", printable(path));
  if (!S_ISREG(s.st_mode)) fail("{}: expected a regular file", printable(path));
  return adopt_fd(fd.release(), path);
}

MappedFile MappedFile::adopt_fd(int fd, std::string name) {
  auto map = std::make_shared<Map>();
  map->fd = Fd(fd);
  map->name = printable(name);
  if (fstat(fd, &map->status) != 0) fail("{}: {}", map->name, errno_text(errno));
  const auto size = static_cast<std::size_t>(map->status.st_size);
  if (size > 0) {  // an empty range cannot be mapped
    void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) fail("{}: cannot be mapped: {}", map->name, errno_text(errno));
    map->data = static_cast<const std::byte*>(at);
    map->size = size;
    map->registered = register_map(map->data, size, map->name);
  }
  return MappedFile(std::move(map));
}

std::span<const std::byte> MappedFile::bytes() const { return {map_->data, map_->size}; }
const std::string& MappedFile::name() const { return map_->name; }
int MappedFile::descriptor() const { return map_->fd.get(); }
dev_t MappedFile::device() const { return map_->status.st_dev; }
ino_t MappedFile::inode() const { return map_->status.st_ino; }

void MappedFile::drop(std::size_t begin, std::size_t end) const {
  const std::size_t page = page_size();
  begin = (begin + page - 1) / page * page;
  // No other data share the last page of the file.
  if (end < map_->size) end = end / page * page;
  end = std::min(end, map_->size);
  // A hint: if ignored, memory stays resident.
  if (begin < end)
    (void)madvise(const_cast<std::byte*>(map_->data) + begin, end - begin, MADV_DONTNEED);
}

void MappedFile::check_unchanged() const {
  struct stat now;
  if (fstat(map_->fd.get(), &now) != 0) fail("{}: {}", map_->name, errno_text(errno));
  const struct stat& then = map_->status;
  if (now.st_size != then.st_size || now.st_mtim.tv_sec != then.st_mtim.tv_sec ||
      now.st_mtim.tv_nsec != then.st_mtim.tv_nsec)
    fail("{}: the file changed during the run", map_->name);
}

void install_fault_handler(const char* program) {
  copy_text(fault_program, program);
  page_size();
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace sten
