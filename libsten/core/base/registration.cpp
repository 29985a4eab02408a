// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/registration.h"

#include <fmt/format.h>

#include "libsten/core/base/text.h"

namespace sten {
namespace {

thread_local Registration* current = nullptr;

std::string key_of(std::string_view kind, std::string_view name) {
  return fmt::format("{} {}", kind, quote(name));
}

}  // namespace

Registration::Registration() { current = this; }
Registration::~Registration() { current = nullptr; }

bool Registration::admits(std::string_view kind, std::string_view name, bool exists) {
  if (!current) return true;
  std::string key = key_of(kind, name);
  if (exists) {
    record_error(fmt::format("the {} is already registered", key));
    return false;
  }
  current->added_.insert(std::move(key));
  return true;
}

bool Registration::has_added(std::string_view kind, std::string_view name) {
  return current && current->added_.contains(key_of(kind, name));
}

bool Registration::record_error(const std::string& what) {
  if (!current) return false;
  if (current->error_.empty()) current->error_ = what;
  return true;
}

}  // namespace sten
