// SPDX-License-Identifier: Apache-2.0
// Cache files that runs share without a flag.
#pragma once
#include <optional>
#include <string>

#include "libsten/core/base/json.h"

namespace sten {

// A JSON document with the key "sten_cache": 1. Only a regular file of this user with that key, in
// a directory of this user that is not writable by everyone, is read or replaced. Links are not
// followed.
class CacheFile {
 public:
  static constexpr std::size_t most_bytes = std::size_t{4} << 20;

  explicit CacheFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // Reads the document; nullopt if the file does not exist. Error with advice for a file or
  // directory that is not as above, and for a file above `most_bytes`. Also accepts a document with
  // the keys "schema" and "seconds", as earlier versions wrote without "sten_cache".
  std::optional<nlohmann::ordered_json> read() const;
  // Creates the directory (mode 0700), and creates or replaces the file as a whole; adds the key.
  // Error as read(), and if the file cannot be written.
  void write(const nlohmann::ordered_json& document) const;

 private:
  std::string path_;
};

}  // namespace sten
