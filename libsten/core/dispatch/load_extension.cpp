// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/dispatch/load_extension.h"

#include <dlfcn.h>

#include <filesystem>
#include <string_view>

#include "libsten/core/base/error.h"
#include "libsten/core/base/registration.h"
#include "libsten/core/base/text.h"
#include "libsten/core/dispatch/extension_note.h"
#include "libsten/core/dispatch/operators.h"
#include "libsten/core/registry/extension.h"

namespace sten {

void load_extension(const std::string& path) {
  const std::string name = printable(path);
  const std::vector<std::string> built_for = extension_notes(path);
  if (built_for.empty())
    fail("{}: not an extension of sten (no source includes libsten/core/registry/extension.h)",
         name);
  for (const std::string& abi : built_for)
    if (abi != extension_note.text)
      fail("{}: built for another libsten: expected \"{}\", got \"{}\" (rebuild the extension)",
           name, extension_note.text, printable(abi));
  // Without a slash, dlopen() would search the directories of libraries.
  const std::string file = std::filesystem::absolute(path).string();
  if (dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD)) fail("{}: already loaded", name);
  operators();  // registers the built-in names first
  const Registration registration;
  if (!dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    const std::string text = dlerror();
    std::string_view why = text;
    if (why.starts_with(file + ": ")) why.remove_prefix(file.size() + 2);
    fail("{}: {}", name, printable(why));
  }
  if (!registration.error().empty()) fail("{}: {}", name, registration.error());
}

}  // namespace sten
