#include "tools/gpu/lab.h"

#include <algorithm>

#include "core/rng.h"

namespace zoetrope {
namespace {

constexpr int64_t kValues = (int64_t(1) << 22) - 3;  // no multiple of a row: neighbouring rows differ

int64_t workspace_bytes(const LabOptions& options, const KernelSizes& s) {
  return ops_workspace_bytes(Device::kCuda, 1, std::max(s.tokens, options.square),
                             std::max(s.width, options.square), std::max(s.ffn, options.square),
                             s.head_width(), DType::kBF16, {AttentionSource::kCudnn, false});
}

Tensor host_values() {
  const Tensor values = Tensor::empty({kValues}, DType::kF32);
  for (int64_t i = 0; i < kValues; i += 4) {
    const auto words = RandomKey{1, Purpose::kNoise, 0, i}.words(0);
    for (int64_t j = 0; j < 4 && i + j < kValues; ++j)
      values.data<float>()[i + j] = to_uniform(words[size_t(j)]) - 0.5f;
  }
  return values;
}

}  // namespace

Lab::Lab(const LabOptions& options, const KernelSizes& largest)
    : options_(options),
      workspace_(workspace_bytes(options, largest), Device::kCuda, "measurements"),
      ops_(make_ops(Device::kCuda, pool_, workspace_)),
      values_(to_device(host_values(), Device::kCuda)),
      narrow_values_(Tensor::empty({kValues}, DType::kBF16, Device::kCuda)) {
  ops_->convert(narrow_values_, values_);
}

Tensor Lab::random(std::initializer_list<int64_t> shape, DType dtype) const {
  const Tensor x = Tensor::empty(shape, dtype, Device::kCuda);
  const Tensor flat = x.reshape({x.size()}), &values = dtype == DType::kF32 ? values_ : narrow_values_;
  for (int64_t i = 0; i < flat.size(); i += kValues) {
    const int64_t count = std::min(kValues, flat.size() - i);
    copy(flat.slice_rows(i, i + count), values.slice_rows(0, count));
  }
  return x;
}

Tensor Lab::zeros(std::initializer_list<int64_t> shape, DType dtype) const {
  return Tensor::zeros(shape, dtype, Device::kCuda);
}

Weight Lab::weight(int64_t rows, int64_t columns) const {
  Weight weight;
  weight.value = random({rows, columns}, DType::kF32);
  ops_->reserve_prepared(weight, DType::kBF16);
  ops_->prepare(weight, DType::kBF16);
  return weight;
}

Tensor Lab::segments(const KernelSizes& sizes) const {
  const Tensor segment = Tensor::empty({sizes.tokens}, DType::kI32);
  for (int64_t t = 0; t < sizes.tokens; ++t) segment.data<int32_t>()[t] = int32_t(t / sizes.sample_tokens());
  return to_device(segment, Device::kCuda);
}

int64_t Lab::sets_for(double bytes_of_one) const {
  return std::clamp<int64_t>(int64_t(double(options_.far_beyond_cache) / bytes_of_one) + 1, 1, 16);
}

void Lab::measure(GpuRow row, const std::function<std::function<void(int64_t)>()>& make) {
  try {
    row.timing = time_on_stream(make(), options_.timer);
  } catch (const Error& error) { return leave_out(std::move(row), error.what()); }
  const double rate = row.bound == Bound::kMemory ? ceilings.copy : ceilings.matrix;
  const double work = row.bound == Bound::kMemory ? row.work.bytes : row.work.flops;
  if (row.bound != Bound::kNone && rate > 0) row.share = work / rate / row.timing.seconds;
  rows.push_back(std::move(row));
}

void Lab::leave_out(GpuRow row, const std::string& why) {
  row.left_out = why;
  rows.push_back(std::move(row));
}

std::string shape_text(std::initializer_list<int64_t> sizes) {
  std::string text;
  for (const int64_t size : sizes) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

void measure_ceilings(Lab& lab) {
  const int64_t bytes = lab.options().copy_bytes, n = lab.options().square;
  const auto copied = [&](const char* name, void (*run)(void*, const void*, int64_t)) {
    lab.measure({"ceilings", name, shape_text({bytes >> 20}) + " MiB", {2.0 * double(bytes), 0}}, [&] {
      const Tensor from = lab.random({bytes / 4}, DType::kF32), to = lab.zeros({bytes / 4}, DType::kF32);
      return [=](int64_t) { run(to.raw(), from.raw(), bytes); };
    });
    const GpuRow& row = lab.rows.back();
    if (row.left_out.empty())
      lab.ceilings.copy = std::max(lab.ceilings.copy, row.work.bytes / row.timing.seconds);
  };
  copied("copy, 16 bytes a thread", copy_by_kernel);
  copied("copy by the library", copy_by_library);
  lab.measure({"ceilings", "product by cuBLASLt", shape_text({n, n, n}), product_work(n, n, n)}, [&] {
    const Weight weight = lab.weight(n, n);
    const Tensor x = lab.random({n, n}, DType::kBF16), y = lab.zeros({n, n}, DType::kBF16);
    return [=, &lab](int64_t) { lab.ops().linear(y, x, weight, Tensor()); };
  });
  const GpuRow& product = lab.rows.back();
  if (product.left_out.empty()) lab.ceilings.matrix = product.work.flops / product.timing.seconds;
  lab.ceilings.launch = measure_launches(lab.options().timer);
}

}  // namespace zoetrope
