# The CUDA backend for real GPUs: library zoetrope_cuda from ZT_CUDA_SOURCES, compiled by nvcc.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  set(CMAKE_CUDA_COMPILER ${ZT_NVCC})
endif()
list(POP_BACK ZT_CUDA_ARCHITECTURES ZT_CUDA_LAST)
set(ZT_CUDA_REAL ${ZT_CUDA_ARCHITECTURES})
list(TRANSFORM ZT_CUDA_REAL APPEND -real)
list(APPEND ZT_CUDA_ARCHITECTURES ${ZT_CUDA_LAST})
set(CMAKE_CUDA_ARCHITECTURES ${ZT_CUDA_REAL} ${ZT_CUDA_LAST})  # the last without a suffix: code and PTX
# Every object's registers and spills are kept beside it, for .ci/ptxas_table.py.
set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/cmake/keep_ptxas_report)
if(CCACHE)
  list(APPEND CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
find_package(CUDAToolkit REQUIRED)
string(REPLACE ";" ", sm_" ZT_CUDA_SUMMARY "${ZT_CUDA_ARCHITECTURES}")
# Where the toolkit's libraries are; CUDAToolkit_LIBRARY_DIR of CMake 4 can name another folder.
get_target_property(ZT_CUDA_LIBRARY_DIR CUDA::cudart_static IMPORTED_LOCATION)
get_filename_component(ZT_CUDA_LIBRARY_DIR ${ZT_CUDA_LIBRARY_DIR} DIRECTORY)
set(ZT_CUDA_SUMMARY "on, CUDA ${CUDAToolkit_VERSION}, sm_${ZT_CUDA_SUMMARY} and PTX")

# *_hopper.cu use instructions of sm_90a alone; host code takes them on such a device only.
set(ZT_HOPPER_SOURCES ${ZT_CUDA_SOURCES})
list(FILTER ZT_HOPPER_SOURCES INCLUDE REGEX "_hopper\\.cu$")
set(ZT_OTHER_CUDA_SOURCES ${ZT_CUDA_SOURCES})
list(FILTER ZT_OTHER_CUDA_SOURCES EXCLUDE REGEX "_hopper\\.cu$")
add_library(zoetrope_cuda_hopper OBJECT ${ZT_HOPPER_SOURCES})
set_target_properties(zoetrope_cuda_hopper PROPERTIES CUDA_ARCHITECTURES OFF)
target_compile_options(zoetrope_cuda_hopper PRIVATE -gencode=arch=compute_90a,code=sm_90a)
target_include_directories(zoetrope_cuda_hopper PRIVATE ${CMAKE_SOURCE_DIR})

add_library(zoetrope_cuda STATIC ${ZT_OTHER_CUDA_SOURCES} $<TARGET_OBJECTS:zoetrope_cuda_hopper>
  model/ops/cuda/loaded/cublaslt.cpp)
target_link_libraries(zoetrope_cuda PUBLIC zoetrope_core CUDA::cudart_static ${CMAKE_DL_LIBS})
target_include_directories(zoetrope_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
set_source_files_properties(model/ops/cuda/loaded/cublaslt.cpp PROPERTIES COMPILE_DEFINITIONS
  "ZT_CUDA_LIBRARIES=\"${ZT_CUDA_LIBRARY_DIR}\"")
set_target_properties(zoetrope_cuda PROPERTIES LINKER_LANGUAGE CXX)
# The warnings of the library in host code; -Wconversion would also look at what nvcc generates.
set(ZT_CUDA_HOST_FLAGS -Wall,-Wextra)
if(ZT_WERROR)
  string(APPEND ZT_CUDA_HOST_FLAGS ",-Werror")
  foreach(target zoetrope_cuda zoetrope_cuda_hopper)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
  endforeach()
endif()
# Registers and spills of every kernel; fails on a spill beyond the recorded one.
add_custom_target(ptxas_table COMMAND ${CMAKE_SOURCE_DIR}/.ci/ptxas_table.py ${CMAKE_BINARY_DIR} VERBATIM USES_TERMINAL)
add_dependencies(ptxas_table zoetrope_cuda)
foreach(target zoetrope_cuda zoetrope_cuda_hopper)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr -Xptxas=-v -Xcompiler=${ZT_CUDA_HOST_FLAGS}>)
endforeach()

# Several GPUs: NCCL's header is enough to build, the library is loaded when it is used.
# ZT_NCCL_ROOT is searched first: a folder with include/ and lib/, as in NVIDIA's Python wheel.
set(ZT_NCCL_ROOT "" CACHE PATH "where NCCL is, if not beside the CUDA toolkit")
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${ZT_NCCL_ROOT}/include ${CUDAToolkit_INCLUDE_DIRS})
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${ZT_NCCL_ROOT}/lib ${ZT_CUDA_LIBRARY_DIR})
set(ZT_NCCL_SUMMARY "not found: one GPU only (set ZT_NCCL_ROOT)")
if(NCCL_INCLUDE_DIR)
  set(ZT_NCCL_SUMMARY "on, loaded when used (${NCCL_INCLUDE_DIR})")
  target_sources(zoetrope_cuda PRIVATE ${CMAKE_SOURCE_DIR}/parallel/comm_nccl.cpp ${CMAKE_SOURCE_DIR}/parallel/loaded/nccl.cpp)
  target_include_directories(zoetrope_cuda SYSTEM PRIVATE ${NCCL_INCLUDE_DIR} ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(zoetrope_cuda PUBLIC ${CMAKE_DL_LIBS})
  get_filename_component(ZT_NCCL_LIBRARIES "${NCCL_LIBRARY}" DIRECTORY)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/parallel/loaded/nccl.cpp PROPERTIES COMPILE_DEFINITIONS
    "ZT_NCCL_LIBRARIES=\"${ZT_NCCL_LIBRARIES}\"")
else()
  target_sources(zoetrope_cuda PRIVATE ${CMAKE_SOURCE_DIR}/parallel/comm_no_nccl.cpp)
endif()
