// SPDX-License-Identifier: Apache-2.0
// Images in folders, one folder per class.
#pragma once
#include <string>
#include <vector>

#include "libsten/data/image/image_files.h"

namespace sten {

struct ImageFolderOptions {
  ImageOptions images;
  bool has_classes = true;  // false: images may also be in the folder itself
};

struct ImageFolder {
  ImageFiles files;
  std::vector<std::string> classes;  // by label
};

// Lists the folders in `folder` as classes, in byte order of their names, and the .png, .jpg and
// .jpeg files in each class and its subfolders as images, in order of their paths. Skips other
// files and names that start with a dot. With `classes`, labels are indices of that list.
//
// Error with the path for a class without images, a folder that is not in `classes`, and an
// unsupported image format; Error (usage) as ImageFiles.
ImageFolder list_images(const std::string& folder, const ImageFolderOptions& options,
                        const std::vector<std::string>* classes = nullptr);

}  // namespace sten
