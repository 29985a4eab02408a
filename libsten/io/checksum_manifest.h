// Records: JSON documents of ours that tell whether they, and the files beside them, are as they
// were written.
#pragma once
#include <span>
#include <string>

#include "libsten/base/json_reader.h"

namespace sten {

// The text of an object with one member more, "checksum", which is of the others.
std::string manifest_text(nlohmann::ordered_json object);
// The object of such a file, without its checksum. Error that names the file where it is not a
// record, or not as it was written.
nlohmann::ordered_json read_manifest(const std::string& path);

// Of bytes, as records have it.
std::string hash_text(std::span<const std::byte> bytes);
// {"bytes": 12, "hash": "0123456789abcdef"} of a regular file.
nlohmann::ordered_json file_facts(const std::string& path);
// Whether a file is there and has these facts.
bool has_facts(const std::string& path, const nlohmann::ordered_json& facts);
// The facts of all files in a directory and below it, by their paths in it.
nlohmann::ordered_json list_files(const std::string& directory);
// Error that names the first file of a directory which is not as in the list: gone, changed, or
// new. The file `manifest`, which has the list, is passed over.
void check_files(const std::string& directory, const JsonReader& list, const std::string& manifest);

}  // namespace sten
