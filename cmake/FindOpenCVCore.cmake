# OpenCV's core and imgproc alone: their Debian packages ship no CMake config, only libopencv-dev does,
# and that pulls in every module.
find_path(OpenCVCore_INCLUDE_DIR opencv2/imgproc.hpp PATH_SUFFIXES opencv4)
find_library(OpenCVCore_core_LIBRARY opencv_core)
find_library(OpenCVCore_imgproc_LIBRARY opencv_imgproc)
if(OpenCVCore_INCLUDE_DIR AND EXISTS ${OpenCVCore_INCLUDE_DIR}/opencv2/core/version.hpp)
  file(STRINGS ${OpenCVCore_INCLUDE_DIR}/opencv2/core/version.hpp lines REGEX "#define CV_VERSION_(MAJOR|MINOR|REVISION) ")
  string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
  list(JOIN numbers "." OpenCVCore_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenCVCore VERSION_VAR OpenCVCore_VERSION
  REQUIRED_VARS OpenCVCore_core_LIBRARY OpenCVCore_imgproc_LIBRARY OpenCVCore_INCLUDE_DIR)
foreach(module core imgproc)
  if(OpenCVCore_FOUND AND NOT TARGET OpenCVCore::${module})
    add_library(OpenCVCore::${module} UNKNOWN IMPORTED)
    set_target_properties(OpenCVCore::${module} PROPERTIES
      IMPORTED_LOCATION ${OpenCVCore_${module}_LIBRARY}
      INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${OpenCVCore_INCLUDE_DIR}
      INTERFACE_INCLUDE_DIRECTORIES ${OpenCVCore_INCLUDE_DIR})
  endif()
endforeach()
