// The program: zoetrope_gpu_bench [--quick] [--device N] [--json FILE].
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "core/check.h"
#include "model/ops/cuda/register.h"
#include "tools/gpu/gpu_bench.h"

namespace {

constexpr const char* kUsage =
    "zoetrope_gpu_bench [--quick] [--device N] [--json FILE]\n"
    "Times every kernel of the CUDA backend against its floor and whole training steps, and prints a table.\n"
    "  --quick      a tenth of the time a line\n"
    "  --device N   GPU N instead of 0\n"
    "  --json FILE  all figures as JSON, to FILE\n"
    "Exit codes: 0 done, 1 a goal was missed, 2 wrong use, 3 failed.\n";

struct Arguments {
  bool quick = false;
  int device = 0;
  std::string json;
};

/// Throws: UsageError on anything else.
Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&] {
      if (i + 1 >= argc) throw zoetrope::UsageError(name + " needs a value");
      return std::string(argv[++i]);
    };
    if (name == "--quick") arguments.quick = true;
    else if (name == "--device") arguments.device = std::atoi(value().c_str());
    else if (name == "--json") arguments.json = value();
    else throw zoetrope::UsageError("unknown argument '" + name + "'");
  }
  return arguments;
}

int run(const Arguments& arguments) {
  using namespace zoetrope;
  register_cuda_backend();
  select_device(Device::kCuda, arguments.device);
  const GpuReport report = run_gpu_bench(full_gpu_bench(arguments.quick), [](const std::string& part) {
    std::fprintf(stderr, "%s\n", part.c_str());
  });
  std::printf("%s", gpu_report_table(report).c_str());
  if (!arguments.json.empty()) {
    std::ofstream out(arguments.json);
    out << gpu_report_json(report) << "\n";
    ZT_REQUIRE(out.good(), "can't write '", arguments.json, "'");
  }
  return report.num_missed() > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--help") == 0) {
    std::printf("%s", kUsage);
    return 0;
  }
  try {
    return run(parse(argc, argv));
  } catch (const zoetrope::UsageError& error) {
    std::fprintf(stderr, "error: %s\n%s", error.what(), kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 3;
  }
}
