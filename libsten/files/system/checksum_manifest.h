// SPDX-License-Identifier: Apache-2.0
// Checksum manifest: a JSON document with its own checksum and those of the files beside it.
#pragma once
#include <span>
#include <string>

#include "libsten/core/base/json_reader.h"

namespace sten {

// The text of an object with a further member "checksum" over its other members.
std::string manifest_text(nlohmann::ordered_json object);
// Reads a manifest, without the checksum. Error with the file's name if it is not a manifest or was
// changed.
nlohmann::ordered_json read_manifest(const std::string& path);

// Hash of bytes as in manifests.
std::string hash_text(std::span<const std::byte> bytes);
// Size and hash of a regular file: {"bytes": 12, "hash": "0123456789abcdef"}.
nlohmann::ordered_json file_facts(const std::string& path);
// Whether a file exists with this size and hash.
bool has_facts(const std::string& path, const nlohmann::ordered_json& facts);
// Sizes and hashes of all files in a directory tree, by relative path.
nlohmann::ordered_json list_files(const std::string& directory);
// Error with the first file that is missing, changed or new compared with the list. Skips the file
// `manifest`, which has the list.
void check_files(const std::string& directory, const JsonReader& list, const std::string& manifest);

}  // namespace sten
