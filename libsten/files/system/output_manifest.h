// SPDX-License-Identifier: Apache-2.0
// Output manifest: the list of files that a run wrote to a directory, by which a later run
// recognizes foreign entries.
#pragma once
#include <string>
#include <vector>

namespace sten {

// A text file that sorts first, with a line per file and directory below.
inline constexpr const char* output_manifest_name = ".sten-output";
// In output directories of batches; see programs/rewrite/batch_manifest.h.
inline constexpr const char* batch_manifest_name = ".sten-batch.json";

// The manifest of a directory: names, sizes and hashes. The hash of a file above 1 MB covers its
// start, its end and samples in between. Equal contents have equal manifests. Error if an entry
// cannot be read.
std::string make_output_manifest(const std::string& directory);

// At most `most` entries of the directory that were added or changed since its manifest was
// written, or are neither files nor directories. Without a manifest, all entries.
std::vector<std::string> foreign_entries(const std::string& directory, std::size_t most);

// Identifies the content of an output: size and hash of a file as in the manifest, or the hash of a
// directory's manifest. "" if it cannot be read.
std::string output_mark(const std::string& path);

// Whether the directory has a manifest.
bool has_output_manifest(const std::string& directory);

}  // namespace sten
