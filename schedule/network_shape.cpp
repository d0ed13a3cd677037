#include "schedule/network_shape.h"

#include "core/check.h"

namespace zoetrope {

const std::vector<NetworkShape>& network_shapes() {
  static const std::vector<NetworkShape> shapes{{"wan-14b", 5120, 40, 40, 13824, 2, 512, 4096, 16, 0},
                                                {"wan-1.3b", 1536, 30, 12, 8960, 2, 512, 4096, 16, 0},
                                                {"text-7b", 4096, 32, 32, 11008, 3, 0, 0, 0, 32000}};
  return shapes;
}

const NetworkShape& find_network_shape(const std::string& name) {
  std::string names;
  for (const NetworkShape& shape : network_shapes()) {
    if (shape.name == name) return shape;
    names += (names.empty() ? "" : ", ") + shape.name;
  }
  throw UsageError(join_message("no network '", name, "'; there are ", names));
}

}  // namespace zoetrope
