// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/image/folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "libsten/core/base/error.h"
#include "libsten/core/base/name_list.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

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
void add_images(const std::string& folder, Index label, int depth,
                std::vector<ImageFiles::File>& to) {
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

}  // namespace

ImageFolder list_images(const std::string& folder, const ImageFolderOptions& options,
                        const std::vector<std::string>* classes) {
  std::vector<ImageFiles::File> paths;
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
  ImageFolder all{ImageFiles(folder, std::move(paths), options.images),
                  std::vector<std::string>(labels.size())};
  for (const auto& [name, label] : labels) all.classes[static_cast<std::size_t>(label)] = name;
  return all;
}

}  // namespace sten
