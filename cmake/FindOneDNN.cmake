# oneDNN by header and library: Debian's own CMake config also demands OpenCL's development files, which the
# CPU engine does not need.
find_path(OneDNN_INCLUDE_DIR dnnl.hpp PATH_SUFFIXES oneapi/dnnl)
find_library(OneDNN_LIBRARY dnnl)
foreach(header ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h ${OneDNN_INCLUDE_DIR}/dnnl_version.h)
  if(EXISTS ${header} AND NOT OneDNN_VERSION)
    file(STRINGS ${header} lines REGEX "#define DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]")
    string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
    list(JOIN numbers "." OneDNN_VERSION)
  endif()
endforeach()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN VERSION_VAR OneDNN_VERSION REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR)
if(OneDNN_FOUND AND NOT TARGET OneDNN::dnnl)
  add_library(OneDNN::dnnl UNKNOWN IMPORTED)
  set_target_properties(OneDNN::dnnl PROPERTIES IMPORTED_LOCATION ${OneDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${OneDNN_INCLUDE_DIR})
endif()
