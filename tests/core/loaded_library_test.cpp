// Libraries that are loaded when they are needed: found by name or in a folder, and named when they are not.
#include "core/loaded_library.h"

#include <gtest/gtest.h>

#include "core/check.h"

namespace zoetrope {
namespace {

const LoadedLibrary::Words kWords{"Mathematics", "sines need", " of the system", "install it"};

std::string error_of(LoadedLibrary& library, const char* function) {
  try {
    library.find<double(double)>(function);
  } catch (const Error& error) { return error.what(); }
  return "";
}

TEST(LoadedLibrary, GivesFunctionsOfALibraryOnTheLoadersPaths) {
  LoadedLibrary library("libm.so.6", "/no/such/folder", kWords);
  EXPECT_EQ(library.find<double(double)>("sqrt")(9.0), 3.0);
  EXPECT_EQ(library.find<double(double)>("sqrt"), library.find<double(double)>("sqrt"));
}

TEST(LoadedLibrary, NamesTheFunctionThatIsMissing) {
  LoadedLibrary library("libm.so.6", "/no/such/folder", kWords);
  EXPECT_NE(error_of(library, "no_such_function").find("Mathematics has no function no_such_function: "),
            std::string::npos);
}

TEST(LoadedLibrary, NamesTheFileBothPlacesAndTheRemedy) {
  LoadedLibrary library("libno_such_file.so.1", "/no/such/folder", kWords);
  const std::string text = error_of(library, "sqrt");
  EXPECT_EQ(
      text.find("sines need libno_such_file.so.1 of the system, which was not found:\n  libno_such_file"), 0)
      << text;
  EXPECT_NE(text.find("\n  /no/such/folder/libno_such_file.so.1: "), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\ninstall it, or name its folder in LD_LIBRARY_PATH")) << text;
}

}  // namespace
}  // namespace zoetrope
