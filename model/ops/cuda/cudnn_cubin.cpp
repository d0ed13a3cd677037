#include "model/ops/cuda/cudnn_cubin.h"

#include <elf.h>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/check.h"

namespace zoetrope::cudnn {
namespace {

std::string decode_base64(const std::string& text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char each : text) {
    const size_t digit = kDigits.find(each);
    if (digit == std::string_view::npos) continue;  // padding and line ends
    bits = (bits << 6) | uint32_t(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(char(uint8_t(bits >> count)));
  }
  return bytes;
}

template <class T>
T read_at(const std::string& bytes, uint64_t offset) {
  ZT_CHECK(offset <= bytes.size() && bytes.size() - offset >= sizeof(T), "a cuDNN kernel's code ends after ",
           bytes.size(), " bytes, before what it says it holds");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

/// One instruction of sm_80 and later is 16 bytes, the opcode its lowest 12 bits. Opcodes as assembled from
/// atomicAdd, red, cp.reduce.async.bulk and cp.reduce.async.bulk.tensor by ptxas 13.0 for sm_80, 90a and
/// 100a.
bool is_float_reduction(uint64_t low, uint64_t high) {
  switch (low & 0xfff) {
    case 0x9a2:  // ATOM, ATOMG, REDG of floats, sm_90 and later
    case 0x9a3:
    case 0x9a6:
    case 0x3b6:  // UTMAREDG: a tile from shared memory
    case 0x3bb:  // UBLKRED: a row of bytes from shared memory
      return true;
    case 0x98a:  // ATOM, ATOMG, RED of any type: the type tells, 3 and above are floats
    case 0x9a8:
    case 0x98e: return ((high >> 9) & 7) >= 3;
    default: return false;
  }
}

int64_t count_float_reductions(const std::string& code, const Elf64_Shdr& section) {
  int64_t count = 0;
  for (uint64_t at = 0; at + 16 <= section.sh_size; at += 16)
    count += is_float_reduction(read_at<uint64_t>(code, section.sh_offset + at),
                                read_at<uint64_t>(code, section.sh_offset + at + 8));
  return count;
}

PlanKernel kernel_of(const std::string& name, const std::string& code) {
  const auto header = read_at<Elf64_Ehdr>(code, 0);
  ZT_CHECK(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine == EM_CUDA, "kernel '", name,
           "' of a cuDNN plan is no CUDA code (machine ", header.e_machine, ", expected ", EM_CUDA, ")");
  PlanKernel kernel{name, int64_t(header.e_flags >> 8 & 0xff)};
  int64_t sections = 0;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = read_at<Elf64_Shdr>(code, header.e_shoff + i * header.e_shentsize);
    if (section.sh_type != SHT_PROGBITS || !(section.sh_flags & SHF_EXECINSTR)) continue;
    kernel.float_reductions += count_float_reductions(code, section);
    ++sections;
  }
  ZT_CHECK(sections > 0, "kernel '", name, "' of a cuDNN plan holds no instructions");
  return kernel;
}

}  // namespace

std::vector<PlanKernel> kernels_of(const std::string& plan_json) {
  std::vector<PlanKernel> kernels;
  try {
    const auto plan = nlohmann::json::parse(plan_json);
    for (const auto& each : plan.at("engine").at("payload").at("kernels"))
      if (each.contains("cubin"))
        kernels.push_back(kernel_of(each.at("kernelName"), decode_base64(each.at("cubin"))));
  } catch (const nlohmann::json::exception& e) {
    throw Error(join_message("a cuDNN plan's JSON is not as expected: ", e.what()));
  }
  ZT_CHECK(!kernels.empty(), "a cuDNN plan's JSON holds no kernel");
  return kernels;
}

}  // namespace zoetrope::cudnn
