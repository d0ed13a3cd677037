// The names of this program.
#pragma once
namespace zoetrope {
inline constexpr const char* kVersion = "0.1.0";
}
