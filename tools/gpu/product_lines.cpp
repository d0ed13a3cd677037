#include "tools/gpu/lab.h"

namespace zoetrope {
namespace {

/// A linear layer's three products on `rows` rows. They wait for the tensor cores: operands stay the same.
void layer(Lab& lab, const std::string& name, int64_t rows, int64_t columns, int64_t inner) {
  const Ops& ops = lab.ops();
  const DType narrow = DType::kBF16, wide = DType::kF32;
  const Work work = product_work(rows, columns, inner);
  const std::string shape = shape_text({rows, columns, inner});
  lab.measure({"products", name + " forward", shape, work, Bound::kMatrix}, [&] {
    return [&ops, y = lab.zeros({rows, columns}, narrow), x = lab.random({rows, inner}, narrow),
            weight = lab.weight(columns, inner),
            bias = lab.random({columns}, wide)](int64_t) { ops.linear(y, x, weight, bias); };
  });
  lab.measure({"products", name + " d input", shape, work, Bound::kMatrix}, [&] {
    return [&ops, dx = lab.zeros({rows, inner}, narrow), dy = lab.random({rows, columns}, narrow),
            weight = lab.weight(columns, inner)](int64_t) { ops.linear_backward_input(dx, dy, weight); };
  });
  lab.measure({"products", name + " d weight", shape, work, Bound::kMatrix}, [&] {
    return [&ops, dweight = lab.zeros({columns, inner}, wide), dbias = lab.zeros({columns}, wide),
            dy = lab.random({rows, columns}, narrow), x = lab.random({rows, inner}, narrow)](int64_t) {
      ops.linear_backward_weight(dweight, dbias, dy, x);
    };
  });
}

}  // namespace

void measure_products(Lab& lab, const KernelSizes& s) {
  layer(lab, "q, k, v", s.tokens, 3 * s.width, s.width);
  layer(lab, "output", s.tokens, s.width, s.width);
  layer(lab, "MLP in", s.tokens, s.ffn, s.width);
  layer(lab, "MLP out", s.tokens, s.width, s.ffn);
}

}  // namespace zoetrope
