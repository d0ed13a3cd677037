// Nothing: CMake precompiles headers for a target, and a target has a source. See tests/precompiled.cmake.
