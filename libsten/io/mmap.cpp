#include "libsten/io/mmap.h"

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

#include "libsten/base/error.h"
#include "libsten/base/text.h"
#include "libsten/io/fd.h"
#include "libsten/io/unfinished.h"

namespace sten {
namespace {

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// A map that a fault can be traced to. They are reused but never freed, and hold their text
// themselves, so that a signal handler may walk the list at any moment.
struct RegisteredMap {
  std::atomic<bool> taken{true};
  std::atomic<std::uintptr_t> begin{0}, end{0};  // begin is 0 while the rest is not valid
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
  // si_code <= 0: some process sent the signal, and si_addr says nothing.
  const RegisteredMap* map = info->si_code > 0 ? registered_maps.load() : nullptr;
  for (; map; map = map->next) {
    const std::uintptr_t begin = map->begin;
    if (begin == 0 || address < begin || address >= map->end) continue;
    // Of the threads that find the pages gone, one says so and ends the process.
    if (fault_told.test_and_set())
      for (;;) pause();
    char line[sizeof(fault_program) + sizeof(map->name) + 64];
    std::size_t n = 0;
    for (const char* part : {static_cast<const char*>(fault_program), ": ", map->name,
                             ": the file shrank while it was being read\n"}) {
      const std::size_t length = strlen(part);
      std::memcpy(line + n, part, length);
      n += length;
    }
    if (write(STDERR_FILENO, line, n) < 0) {
    }  // nowhere left to say it
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
  // Non-blocking, since opening a pipe would wait for its writer before it could be refused.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) fail("{}: {}", printable(path), errno_text(errno));
  struct stat s;
  if (fstat(fd.get(), &s) != 0) fail("{}: {}", printable(path), errno_text(errno));
  if (S_ISDIR(s.st_mode))
    fail("{}: is a directory; one .safetensors file is expected", printable(path));
  if (!S_ISREG(s.st_mode)) fail("{}: is not a regular file", printable(path));
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
  // The page that the end of the file lies in holds nothing else.
  if (end < map_->size) end = end / page * page;
  end = std::min(end, map_->size);
  // Advice: where it is not taken, memory stays resident and nothing else changes.
  if (begin < end)
    (void)madvise(const_cast<std::byte*>(map_->data) + begin, end - begin, MADV_DONTNEED);
}

void MappedFile::check_unchanged() const {
  struct stat now;
  if (fstat(map_->fd.get(), &now) != 0) fail("{}: {}", map_->name, errno_text(errno));
  const struct stat& then = map_->status;
  if (now.st_size != then.st_size || now.st_mtim.tv_sec != then.st_mtim.tv_sec ||
      now.st_mtim.tv_nsec != then.st_mtim.tv_nsec)
    fail("{}: the file changed while it was being read", map_->name);
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
