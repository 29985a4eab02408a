// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/named_outputs.h"

#include <algorithm>
#include <cmath>

#include "libsten/core/base/error.h"
#include "libsten/core/base/name_list.h"
#include "libsten/core/base/scalars.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/paths.h"
#include "libsten/files/tensors/npy.h"
#include "libsten/files/tensors/safetensors_writer.h"

namespace sten {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

void CollectedOutput::measure(const Dense& x) {
  with_scalar(x.dtype(), [&]<class U>(U, auto number) {
    for (const U v : x.values.as<U>()) {
      const auto n = static_cast<double>(number(v));
      if (!std::isfinite(n)) {
        ++not_finite_;
        continue;
      }
      least_ = finite_ ? std::min(least_, n) : n;
      most_ = finite_ ? std::max(most_, n) : n;
      sum_ += n;
      ++finite_;
    }
  });
}

void CollectedOutput::add(const Dense& x) {
  const Shape& more = x.extents;
  if (shape_.empty() && parts_.empty() && finite_ + not_finite_ == 0) {
    dtype_ = x.dtype();
    shape_ = more;
  } else {
    if (shape_.empty() || more.size() != shape_.size() ||
        !std::equal(more.begin() + 1, more.end(), shape_.begin() + 1))
      fail("output {} has shape {}, then {}: expected batches of rows", quote(name_),
           to_string(shape_), to_string(more));
    shape_.front() += more.front();
  }
  measure(x);
  if (collects_) parts_.push_back(x);
}

Dense CollectedOutput::values() const {
  if (parts_.size() == 1) return parts_.front();
  Dense all{shape_, Values::uninitialized(dtype_, size_of(shape_))};
  std::byte* to = all.values.mutate_bytes();
  for (const Dense& x : parts_) {
    const auto& from = x.values.bytes();
    to = std::copy(from.data(), from.data() + from.size(), to);
  }
  return all;
}

OutputFiles::OutputFiles(const std::vector<std::string>& given,
                         const std::vector<std::string>& outputs, const std::string& model,
                         bool force) {
  for (const std::string& text : given) {
    const std::size_t split = text.find('=');
    std::string name = split == text.npos ? "" : text.substr(0, split);
    const std::string path = split == text.npos ? text : text.substr(split + 1);
    if (split != text.npos && std::ranges::count(outputs, name) == 0)
      fail_usage("-o {}: unknown output {} of {}{} (expected one of {})", printable(text),
                 quote(name), model, suggestion(name, outputs), name_list(outputs));
    const bool is_all = name.empty() && path.ends_with(".safetensors");
    if (name.empty() && !is_all) {
      if (outputs.size() != 1)
        fail_usage("-o {}: {} has the outputs {} (name one: NAME={})", printable(text), model,
                   name_list(outputs), printable(path));
      name = outputs.front();
    }
    if (!is_all && path != "-" && !path.ends_with(".npy") && !path.starts_with("/dev/"))
      fail_usage("-o {}: expected a .npy file for one output, or a .safetensors file for all",
                 printable(text));
    files_.push_back({name, std::make_unique<OutputFile>(path, force)});
  }
}

bool OutputFiles::wants(std::string_view output) const {
  return std::ranges::any_of(files_,
                             [&](const File& f) { return f.output.empty() || f.output == output; });
}

std::vector<std::string> OutputFiles::write(std::span<const CollectedOutput> outputs) {
  std::vector<std::string> lines;
  std::vector<Output*> all;
  for (File& f : files_) {
    if (f.output.empty()) {
      SafetensorsWriter writer(*f.out, 64 + 128 * outputs.size());
      std::vector<std::string> names;
      for (const CollectedOutput& o : outputs) {
        const Dense x = o.values();
        const auto& bytes = x.values.bytes();
        writer.add(o.name(), o.dtype(), o.shape(), std::span(bytes.data(), bytes.size()));
        names.push_back(o.name());
      }
      writer.finish({}, names);
    } else {
      const auto at = std::ranges::find(outputs, f.output, &CollectedOutput::name);
      const Dense x = at->values();
      const auto& bytes = x.values.bytes();
      f.out->write(bytes_of(npy_header(at->dtype(), at->shape())));
      f.out->write(std::span(bytes.data(), bytes.size()));
    }
    if (!f.out->is_stream()) lines.push_back("wrote " + f.out->name());
    all.push_back(f.out.get());
  }
  if (!all.empty()) commit_together(all);
  return lines;
}

}  // namespace sten
