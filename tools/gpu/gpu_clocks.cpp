#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "tools/gpu/stream_timer.h"

namespace zoetrope {

std::string gpu_clocks(int index) {
  // nvidia-smi knows all GPUs of the machine, this program those that the variable names.
  std::string gpu = std::to_string(index);
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr && index == 0) {
    gpu = std::string(visible).substr(0, std::string(visible).find(','));
    if (gpu.find_first_not_of("-0123456789abcdefGPUMIG") != std::string::npos) return "not asked for";
  }
  const std::string command = "nvidia-smi -i '" + gpu +
                              "' --query-gpu=clocks.sm,clocks.max.sm,clocks.mem,temperature.gpu,power.draw,"
                              "clocks_throttle_reasons.active --format=csv,noheader 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (pipe == nullptr) return "nvidia-smi did not start";
  std::array<char, 256> line{};
  if (std::fgets(line.data(), int(line.size()), pipe.get()) == nullptr) return "nvidia-smi says nothing";
  std::string text(line.data());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return "SM clock, most, memory, degrees, power, throttling: " + text;
}

}  // namespace zoetrope
