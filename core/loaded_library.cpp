#include "core/loaded_library.h"

#include <dlfcn.h>

#include <utility>

#include "core/check.h"

namespace zoetrope {

LoadedLibrary::LoadedLibrary(std::string file, std::string folder, Words words)
    : file_(std::move(file)), folder_(std::move(folder)), words_(std::move(words)) {}

void* LoadedLibrary::find_symbol(const char* function) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string errors;
  for (const std::string& path : {file_, folder_ + "/" + file_}) {
    if (handle_) break;
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) errors += std::string("\n  ") + dlerror();
  }
  ZT_REQUIRE(handle_ != nullptr, words_.needed_by, " ", file_, words_.origin,
             ", which was not found:", errors, "\n", words_.install,
             ", or name its folder in LD_LIBRARY_PATH");
  void* found = dlsym(handle_, function);
  ZT_CHECK(found != nullptr, words_.name, " has no function ", function, ": ", dlerror());
  return found;
}

}  // namespace zoetrope
