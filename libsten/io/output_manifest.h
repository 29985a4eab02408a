// What a run put into a directory, written down in it, so that a later run can tell its entries
// from those of others.
#pragma once
#include <string>
#include <vector>

namespace sten {

// A text file that sorts before all others: a line for each file and directory below.
inline constexpr const char* output_manifest_name = ".sten-output";
// Of a directory that batches write to; see run/batch_record.h.
inline constexpr const char* batch_manifest_name = ".sten-batch.json";

// The record of what lies in a directory: names, sizes and hashes. Of files above 1 MB the hash
// covers the beginning, the end and samples between them, so that it costs no second read. The same
// content has the same record. Error where something cannot be read.
std::string make_output_manifest(const std::string& directory);

// The entries of a directory that its record does not have as they are now, at most `most` of them:
// what was added or changed since, and whatever is neither a file nor a directory. Without a record
// that is everything.
std::vector<std::string> foreign_entries(const std::string& directory, std::size_t most);

// Tells the content of an output apart: size and hash of a file, as the record has them, or the hash
// of a directory's record. "" where nothing can be read.
std::string output_mark(const std::string& path);

// Whether the directory has a record.
bool has_output_manifest(const std::string& directory);

}  // namespace sten
