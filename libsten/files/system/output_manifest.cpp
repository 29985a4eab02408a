// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/output_manifest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <unordered_set>

#include "libsten/core/base/error.h"
#include "libsten/core/base/hash.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/fd.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

constexpr const char* first_line = "sten output 1";

// Larger files are hashed by samples: a header with the provenance is at the start, and training
// changes values everywhere.
constexpr std::uint64_t hashed_whole = std::uint64_t{1} << 20;
constexpr std::size_t sample = 4096, samples = 256;

// Returns 0, or the errno of the failed call.
int hash_file(int fd, std::uint64_t size, std::uint64_t& hash) {
  std::array<std::byte, sample> buffer;
  const auto add = [&](std::uint64_t at) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(sample, size - at));
    const auto piece = std::span(buffer).first(n);
    const int error = read_all_at(fd, at, piece);
    if (error == 0) hash = hash_bytes(hash, piece);
    return error;
  };
  hash = size;
  if (size <= hashed_whole) {
    for (std::uint64_t at = 0; at < size; at += sample)
      if (const int error = add(at)) return error;
    return 0;
  }
  for (std::size_t i = 0; i < samples; ++i)
    if (const int error = add((size - sample) / (samples - 1) * i)) return error;
  return add(size - sample);
}

// Escapes line breaks: a line has one name.
std::string on_one_line(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

struct Line {
  std::string text;  // empty for an entry that a manifest cannot have
  int error = 0;
};

Line line_of(const fs::path& path, const std::string& name) {
  struct stat s = {};
  if (lstat(path.c_str(), &s) != 0) return {"", errno};
  if (S_ISDIR(s.st_mode)) return {fmt::format("directory - {}", on_one_line(name))};
  if (!S_ISREG(s.st_mode)) return {};
  const Fd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return {"", errno};
  const auto size = static_cast<std::uint64_t>(s.st_size);
  std::uint64_t hash = 0;
  if (const int error = hash_file(file.get(), size, hash)) return {"", error};
  return {fmt::format("{:016x} {} {}", hash, size, on_one_line(name))};
}

enum class Next { inside, past, stop };

// Calls f(relative name, path) for all entries below, except the manifest. A directory precedes its
// contents, which Next::past skips.
template <class F>
void for_each_entry(const std::string& directory, F&& f) {
  std::error_code error;
  fs::recursive_directory_iterator at(directory, error), end;
  for (; !error && at != end; at.increment(error)) {
    const std::string name = at->path().lexically_relative(directory);
    const Next next = name == output_manifest_name ? Next::past : f(name, at->path());
    if (next == Next::stop) return;
    if (next == Next::past) at.disable_recursion_pending();
  }
  if (error) fail("{}: {}", printable(directory), error.message());
}

}  // namespace

std::string make_output_manifest(const std::string& directory) {
  std::vector<std::pair<std::string, std::string>> lines;  // sorted by name
  for_each_entry(directory, [&](const std::string& name, const fs::path& path) {
    const Line line = line_of(path, name);
    if (line.error) fail("{}: {}", printable(path.string()), errno_text(line.error));
    if (!line.text.empty()) lines.emplace_back(name, line.text);
    return Next::inside;
  });
  std::sort(lines.begin(), lines.end());
  std::string manifest = std::string(first_line) + "\n";
  for (const auto& [name, text] : lines) manifest += text + "\n";
  return manifest;
}

std::vector<std::string> foreign_entries(const std::string& directory, std::size_t most) {
  std::unordered_set<std::string> known;
  if (has_output_manifest(directory)) {
    std::ifstream in(fs::path(directory) / output_manifest_name, std::ios::binary);
    for (std::string line; std::getline(in, line);) known.insert(line);
  }
  std::vector<std::string> foreign;
  for_each_entry(directory, [&](const std::string& name, const fs::path& path) {
    const Line line = line_of(path, name);
    if (!line.text.empty() && known.contains(line.text)) return Next::inside;
    foreign.push_back(name);
    return foreign.size() < most ? Next::past : Next::stop;
  });
  return foreign;
}

std::string output_mark(const std::string& path) {
  std::error_code none;
  const fs::path target = fs::canonical(path, none);
  if (none) return "";
  if (!fs::is_directory(target, none)) return line_of(target, "").text;
  try {
    return fmt::format("{:016x}", hash_of_text(make_output_manifest(target)));
  } catch (const Error&) {
    return "";
  }
}

bool has_output_manifest(const std::string& directory) {
  const Fd file(open((fs::path(directory) / output_manifest_name).c_str(),
                     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::array<char, 16> text = {};
  const std::string wanted = std::string(first_line) + "\n";
  static_assert(std::string_view("sten output 1\n").size() < text.size());
  return file &&
         read(file.get(), text.data(), wanted.size()) == static_cast<ssize_t>(wanted.size()) &&
         std::string_view(text.data(), wanted.size()) == wanted;
}

}  // namespace sten
