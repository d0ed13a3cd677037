# Headers that nearly every test includes, precompiled once for each set of flags: about half of a test's compile time.
# None of ours, so that no change of a header compiles more than before; .ci/headers finds what includes too little.
set(ZT_PRECOMPILED <gtest/gtest.h> <algorithm> <cmath> <filesystem> <functional> <map> <random> <set> <sstream> <string> <vector>)

# The headers for targets with the given flags beside those of the build type.
function(zt_precompile flags)
  if(ZT_PCH)
    add_library(zoetrope_precompiled_${flags} OBJECT EXCLUDE_FROM_ALL support/precompiled.cxx)
    target_link_libraries(zoetrope_precompiled_${flags} PRIVATE zoetrope_flags Threads::Threads GTest::gtest)
    target_compile_options(zoetrope_precompiled_${flags} PRIVATE ${ARGN})
    target_precompile_headers(zoetrope_precompiled_${flags} PRIVATE ${ZT_PRECOMPILED})
    set_target_properties(zoetrope_precompiled_${flags} PROPERTIES CXX_COMPILER_LAUNCHER "${ZT_PRECOMPILED_LAUNCHER}")
  endif()
endfunction()

function(zt_use_precompiled target flags)
  if(ZT_PCH)
    target_precompile_headers(${target} REUSE_FROM zoetrope_precompiled_${flags})
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${ZT_PRECOMPILED_LAUNCHER}")
    if(flags STREQUAL "release")
      target_compile_options(${target} PRIVATE ${ZT_PRECOMPILED_WARNINGS})
    endif()
  endif()
endfunction()

zt_precompile(release)
zt_precompile(unoptimized -O0)
