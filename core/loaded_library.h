// A shared library that is loaded when one of its functions is first called: programs start without it, and
// run where it is not installed as long as nobody needs it.
#pragma once

#include <mutex>
#include <string>

namespace zoetrope {

class LoadedLibrary {
 public:
  /// What messages say of it.
  struct Words {
    std::string name;               ///< "NCCL"
    std::string needed_by, origin;  ///< "several GPUs need", and what follows the file's name or nothing
    std::string install;            ///< "install NCCL"
  };
  /// `file` is looked for on the dynamic loader's paths, then in `folder`.
  LoadedLibrary(std::string file, std::string folder, Words words);

  /// Its function of this name. Throws: Error naming the file and both places' messages, or the function.
  template <class Function>
  Function* find(const char* function) {
    return reinterpret_cast<Function*>(find_symbol(function));
  }

 private:
  void* find_symbol(const char* function);

  const std::string file_, folder_;
  const Words words_;
  std::mutex mutex_;
  void* handle_ = nullptr;
};

}  // namespace zoetrope
