#include "libsten/data/image/folder.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>

#include "libsten/core/base/error.h"
#include "libsten/core/base/memory_left.h"
#include "libsten/core/base/name_list.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/text.h"
#include "libsten/data/image/image.h"
#include "libsten/data/image/resize.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

struct ImagePath {
  std::string path;
  Index label;
};

std::string lower_extension(const fs::path& path) {
  std::string e = path.extension();
  for (char& c : e)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return e;
}

bool is_image(const fs::path& path) {
  const std::string e = lower_extension(path);
  constexpr std::array read{".png", ".jpg", ".jpeg"};
  if (std::ranges::count(read, e)) return true;
  constexpr std::array other{".bmp", ".gif", ".pgm", ".ppm", ".tif", ".tiff", ".webp"};
  if (std::ranges::count(other, e))
    fail("{}: unsupported image format (expected PNG or JPEG)", printable(path.string()));
  return false;
}

// Calls f(entry) for the entries of a folder, in byte order of their names.
template <class F>
void each_in(const std::string& folder, F&& f) {
  std::error_code error;
  std::vector<fs::directory_entry> all;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (!at->path().filename().string().starts_with('.')) all.push_back(*at);
  if (error) fail("{}: {}", printable(folder), error.message());
  std::ranges::sort(all, {}, [](const auto& e) { return e.path().filename().string(); });
  for (const fs::directory_entry& e : all) f(e);
}

bool is_folder(const fs::directory_entry& e) {
  std::error_code none;
  return e.is_directory(none);
}

constexpr int most_depth = 16;

// Adds the images of a class and its subfolders. Skips links to folders, which may be circular.
void add_images(const std::string& folder, Index label, int depth, std::vector<ImagePath>& to) {
  if (depth > most_depth)
    fail("{}: nested more than {} folders deep in a class", printable(folder), most_depth);
  each_in(folder, [&](const fs::directory_entry& e) {
    std::error_code none;
    if (is_folder(e)) {
      if (!e.is_symlink(none)) add_images(e.path(), label, depth + 1, to);
    } else if (is_image(e.path())) {
      to.push_back({e.path(), label});
    }
  });
}

// Keeps the error of the lowest index, independent of the threads' timing.
class FirstError {
 public:
  void add(Index i) {
    const std::lock_guard hold(lock_);
    if (error_ && at_ <= i) return;
    at_ = i;
    error_ = std::current_exception();
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex lock_;
  Index at_ = 0;
  std::exception_ptr error_;
};

// Bounds the memory of images that are decoded at the same time. An image above the bound is
// decoded alone.
class DecodingMemory {
 public:
  void take(Index bytes) {
    std::unique_lock hold(lock_);
    freed_.wait(hold, [&] { return taken_ == 0 || taken_ + bytes <= most; });
    taken_ += bytes;
  }
  void free(Index bytes) {
    const std::lock_guard hold(lock_);
    taken_ -= bytes;
    freed_.notify_all();
  }

 private:
  static constexpr Index most = 200'000'000;
  std::mutex lock_;
  std::condition_variable freed_;
  Index taken_ = 0;
};

// The centre of an image, with the requested number of channels.
Dense middle_of(const std::string& path, const ImageFolderOptions& o, DecodingMemory& memory) {
  Index taken = 0;
  const ImageLimits limits{.before_decoding = [&](Index bytes) { memory.take(taken = bytes); }};
  struct Freed {
    DecodingMemory& memory;
    const Index& taken;
    ~Freed() {
      if (taken > 0) memory.free(taken);
    }
  } freed{memory, taken};
  Dense image = read_image(path, limits);
  const Index shorter = o.resize ? o.resize : o.size;
  // Resizes grey images before adding channels, which is less work.
  if (image.extents[2] == 1) return with_channels(centre_of(image, shorter, o.size), o.channels);
  return centre_of(with_channels(image, o.channels), shorter, o.size);
}

Examples read_images(const std::vector<ImagePath>& paths, const ImageFolderOptions& o) {
  const Index n = std::ssize(paths), bytes = o.size * o.size * o.channels;
  check_memory(static_cast<double>(n) * static_cast<double>(bytes),
               fmt::format("{} images of {} x {} pixels", n, o.size, o.size));
  Examples all{{{n, o.size, o.size, o.channels}, Values::uninitialized(DType::U8, n * bytes)},
               {{n}, Values::uninitialized(DType::I64, n)}};
  std::uint8_t* pixels = all.features.values.mutate<std::uint8_t>().data();
  std::int64_t* labels = all.labels.values.mutate<std::int64_t>().data();
  FirstError first;
  DecodingMemory memory;
  parallel_for(n, 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) try {
        const Dense image = middle_of(paths[i].path, o, memory);
        std::memcpy(pixels + i * bytes, image.values.bytes().data(), bytes);
        labels[i] = paths[i].label;
      } catch (...) {
        first.add(i);
      }
  });
  first.rethrow();
  return all;
}

}  // namespace

FolderImages read_image_folder(const std::string& folder, const ImageFolderOptions& options,
                               const std::vector<std::string>* classes) {
  const Index shorter = options.resize ? options.resize : options.size;
  if (options.size < 1 || shorter < options.size || shorter > most_image_side)
    fail_usage("images: a crop of {0} x {0} pixels does not fit a shorter side of {1}",
               options.size, shorter);
  if (options.channels != 1 && options.channels != 3)
    fail_usage("images: channels must be 1 or 3, got {}", options.channels);
  std::vector<ImagePath> paths;
  std::map<std::string, Index> labels;
  if (classes)
    for (const std::string& name : *classes) labels.emplace(name, std::ssize(labels));
  each_in(folder, [&](const fs::directory_entry& e) {
    if (!is_folder(e)) return;
    const std::string name = e.path().filename(), path = e.path();
    if (classes && !labels.contains(name))
      fail("{}: unknown class {}{} (expected one of {})", printable(path), quote(name),
           suggestion(name, *classes), name_list(*classes));
    const Index label = labels.emplace(name, std::ssize(labels)).first->second;
    const auto before = paths.size();
    add_images(path, label, 0, paths);
    if (paths.size() == before) fail("{}: no PNG or JPEG image found", printable(path));
  });
  if (!options.has_classes && paths.empty()) add_images(folder, 0, 0, paths);
  if (paths.empty())
    fail("{}: no folders of images found (each folder is a class)", printable(folder));
  FolderImages all{read_images(paths, options), std::vector<std::string>(labels.size())};
  for (const auto& [name, label] : labels) all.classes[static_cast<std::size_t>(label)] = name;
  return all;
}

}  // namespace sten
