#include <vector>

#include "model/ops/cuda/column_sums.h"
#include "model/ops/cuda/rank_sum.h"
#include "tools/gpu/lab.h"

namespace zoetrope {
namespace {

constexpr DType kWide = DType::kF32, kNarrow = DType::kBF16;

std::string samples_text(const KernelSizes& s) {
  return s.samples == 1 ? "" : ", " + std::to_string(s.samples) + " samples";
}

/// Lines of the napkin table with operands that take turns.
class Lines {
 public:
  Lines(Lab& lab, const KernelSizes& sizes, const char* group) : lab_(lab), s_(sizes), group_(group) {}

  /// `make(set)` returns one call on operands of its own.
  void line(const std::string& kernel, const std::string& shape,
            const std::function<std::function<void()>()>& make) {
    const KernelNapkin& napkin = napkin_of(kernel);
    const Work work = napkin.work(s_);
    lab_.measure({group_, kernel, shape + samples_text(s_), work, napkin.bound, napkin.goal}, [&] {
      std::vector<std::function<void()>> sets;
      for (int64_t i = 0; i < lab_.sets_for(work.bytes); ++i) sets.push_back(make());
      return [sets](int64_t call) { sets[size_t(call) % sets.size()](); };
    });
  }
  std::string area() const { return shape_text({s_.tokens, s_.width}); }
  std::string ffn_area() const { return shape_text({s_.tokens, s_.ffn}); }

  Tensor wide() const { return lab_.random({s_.tokens, s_.width}, kWide); }
  Tensor narrow() const { return lab_.random({s_.tokens, s_.width}, kNarrow); }
  Tensor hidden() const { return lab_.random({s_.tokens, s_.ffn}, kNarrow); }
  Tensor stats() const { return lab_.random({s_.tokens, 2}, kWide); }
  Tensor per_token() const { return lab_.random({s_.tokens}, kWide); }
  Tensor rotation() const { return lab_.random({s_.tokens, s_.head_width()}, kWide); }
  Tensor row() const { return lab_.random({s_.width}, kWide); }
  Tensor per_sample() const { return lab_.random({s_.samples, s_.width}, kWide); }

 private:
  Lab& lab_;
  const KernelSizes& s_;
  const char* group_;
};

void norms(Lab& lab, const KernelSizes& s, Lines& lines) {
  const Ops& ops = lab.ops();
  lines.line("layer_norm", lines.area(), [&] {
    return [&ops, y = lines.narrow(), stats = lines.stats(), x = lines.wide(), w = lines.row(),
            b = lines.row()] { ops.layer_norm(y, stats, x, w, b, 1e-6); };
  });
  lines.line("layer_norm backward", lines.area(), [&] {
    return
        [&ops, dx = lines.wide(), dw = lines.row(), db = lines.row(), dy = lines.narrow(), x = lines.wide(),
         stats = lines.stats(), w = lines.row()] { ops.layer_norm_backward(dx, dw, db, dy, x, stats, w); };
  });
  lines.line("rms_norm_rope", lines.area(), [&] {
    return
        [&ops, heads = s.heads, y = lines.narrow(), rstd = lines.per_token(), x = lines.narrow(),
         w = lines.row(), turn = lines.rotation()] { ops.rms_norm_rope(y, rstd, x, w, turn, heads, 1e-6); };
  });
  lines.line("rms_norm_rope backward", lines.area(), [&] {
    return [&ops, heads = s.heads, dx = lines.narrow(), dw = lines.row(), dy = lines.wide(),
            x = lines.narrow(), rstd = lines.per_token(), w = lines.row(),
            turn = lines.rotation()] { ops.rms_norm_rope_backward(dx, dw, dy, x, rstd, w, turn, heads); };
  });
}

void maps(Lab& lab, const KernelSizes& s, Lines& lines) {
  const Ops& ops = lab.ops();
  lines.line("gelu", lines.ffn_area(), [&] {
    return [&ops, y = lines.hidden(), x = lines.hidden()] { ops.activate(y, x, Activation::kGelu); };
  });
  lines.line("gelu backward", lines.ffn_area(), [&] {
    return [&ops, dx = lines.hidden(), dy = lines.hidden(), x = lines.hidden()] {
      ops.activate_backward(dx, dy, x, Activation::kGelu);
    };
  });
  lines.line("convert f32 to bf16", lines.area(),
             [&] { return [&ops, y = lines.narrow(), x = lines.wide()] { ops.convert(y, x); }; });
  lines.line("add", lines.area(),
             [&] { return [&ops, y = lines.wide(), x = lines.wide()] { ops.add(y, x); }; });
  lines.line("zero", lines.area(), [&] { return [&ops, x = lines.wide()] { ops.zero(x); }; });
  lines.line("column_sums", lines.ffn_area(), [&] {
    return [&lab, sums = lab.random({s.ffn}, kWide), x = lines.hidden()] {
      cuda::add_column_sums(lab.workspace(), sums, x, lab.ops().stream());
    };
  });
  lines.line("attention_delta", lines.area(), [&] {
    return [&ops, heads = s.heads, delta = lab.random({s.tokens, s.heads}, kWide), dout = lines.narrow(),
            out = lines.narrow()] { ops.attention_delta(delta, dout, out, heads); };
  });
}

void whole_parameters(Lab& lab, const KernelSizes& s, Lines& lines) {
  const Ops& ops = lab.ops();
  const int64_t n = s.parameters, slice = s.rank_slice();
  lines.line("adamw + ema", shape_text({n}), [&] {
    AdamwStep step;
    step.learning_rate = 1e-4;
    step.ema_decay = 0.999;
    const Tensor second = lab.zeros({n}, kWide);  // squares: none below 0
    return [&ops, step, second, value = lab.random({n}, kWide), first = lab.random({n}, kWide),
            ema = lab.random({n}, kWide),
            grad = lab.random({n}, kWide)] { ops.adamw(value, first, second, ema, grad, step); };
  });
  lines.line("sum_squares", shape_text({n}),
             [&] { return [&ops, x = lab.random({n}, kWide)] { ops.sum_squares(x); }; });
  lines.line("rank_sum of 8", shape_text({slice}), [&] {
    return [&ops, slice, ranks = int(s.ranks), own = lab.random({slice}, kWide),
            received = lab.random({s.ranks - 1, slice}, kWide)] {
      cuda::sum_in_rank_order(ops.stream().handle(), own.data<float>(), received.data<float>(), slice, 0,
                              ranks, slice);
    };
  });
}

void around_the_network(Lab& lab, const KernelSizes& s, Lines& lines) {
  const Ops& ops = lab.ops();
  const int64_t T = s.tokens, P = s.features;
  lines.line("flow_inputs", shape_text({T, P}), [&] {
    const std::vector<FlowRows> rows{{0, T, 0.5, {1, Purpose::kNoise, 0, 0}}};
    return [&ops, rows, features = lab.random({T, P}, kNarrow), target = lab.random({T, P}, kWide),
            tokens = lab.zeros({T, P}, DType::kU8)] {
      ops.flow_inputs(features, target, tokens, rows, 1, false);
    };
  });
  lines.line("squared_error", shape_text({T, P}), [&] {
    return [&ops, dy = lab.random({T, P}, kNarrow), row_loss = lines.per_token(),
            y = lab.random({T, P}, kWide), target = lab.random({T, P}, kWide),
            weight = lines.per_token()] { ops.squared_error(dy, row_loss, y, target, weight, 1.0); };
  });
}

}  // namespace

void measure_pointwise(Lab& lab, const KernelSizes& sizes) {
  Lines lines(lab, sizes, "pointwise");
  norms(lab, sizes, lines);
  maps(lab, sizes, lines);
  whole_parameters(lab, sizes, lines);
  around_the_network(lab, sizes, lines);
}

void measure_per_sample(Lab& lab, const KernelSizes& sizes) {
  const Ops& ops = lab.ops();
  Lines lines(lab, sizes, "pointwise");
  const Tensor ids = lab.segments(sizes);
  lines.line("layer_norm_modulate", lines.area(), [&] {
    return
        [&ops, ids, y = lines.narrow(), stats = lines.stats(), x = lines.wide(), shift = lines.per_sample(),
         scale = lines.per_sample()] { ops.layer_norm_modulate(y, stats, x, shift, scale, ids, 1e-6); };
  });
  lines.line("layer_norm_modulate backward", lines.area(), [&] {
    return [&ops, ids, dx = lines.wide(), dshift = lines.per_sample(), dscale = lines.per_sample(),
            dy = lines.narrow(), x = lines.wide(), stats = lines.stats(), scale = lines.per_sample()] {
      ops.layer_norm_modulate_backward(dx, dshift, dscale, dy, x, stats, scale, ids);
    };
  });
  lines.line("gate_residual", lines.area(), [&] {
    return [&ops, ids, y = lines.wide(), x = lines.wide(), branch = lines.narrow(),
            gate = lines.per_sample()] { ops.gate_residual(y, x, branch, gate, ids); };
  });
  lines.line("gate_residual backward", lines.area(), [&] {
    return [&ops, ids, dbranch = lines.narrow(), dgate = lines.per_sample(), dy = lines.wide(),
            branch = lines.narrow(),
            gate = lines.per_sample()] { ops.gate_residual_backward(dbranch, dgate, dy, branch, gate, ids); };
  });
}

}  // namespace zoetrope
