#include "tests/support/ops_under_test.h"

#include <gtest/gtest.h>

#include <cstring>

namespace zoetrope::test {
namespace {

constexpr int64_t kLine = 64;    // bytes: alignments are kept within a line
constexpr char kGuard = '\xff';  // NaN in f32, f64 and bf16

int64_t element_bytes(const Tensor& x) { return int64_t(size_of(x.dtype())); }
int64_t stride_bytes(const Tensor& x) { return x.row_stride() * element_bytes(x); }
int64_t offset_of(const Tensor& view, const Tensor& storage) {
  return static_cast<const char*>(view.raw()) - static_cast<const char*>(storage.raw());
}

/// All bytes of a tensor, copied to the host.
std::vector<char> bytes_of(const Tensor& storage) {
  std::vector<char> bytes(size_t(storage.size()));
  copy(Tensor::wrap(bytes.data(), {storage.size()}, DType::kU8), storage);
  return bytes;
}

/// Calls f(place in the storage, bytes) for each row of an entry.
template <class F>
void for_each_row(const Tensor& view, int64_t offset, const F& f) {
  for (int64_t t = 0; t < view.rows(); ++t)
    f(size_t(offset + t * stride_bytes(view)), size_t(view.row_size() * element_bytes(view)));
}

/// The same rows and columns as `like`, from `first` on.
Tensor view_at(char* first, const Tensor& like, Device device) {
  if (like.dims() == 1) return Tensor::wrap(first, {like.rows()}, like.dtype(), device);
  return Tensor::wrap(first, {like.rows(), like.row_stride()}, like.dtype(), device)
      .columns(0, like.row_size());
}

}  // namespace

Tensor Placed::place(const Tensor& host, bool is_out) {
  if (!host.defined()) return host;
  for (Entry& entry : entries_)
    if (host.size() > 0 && entry.host.raw() == host.raw() && entry.host.size() == host.size()) {
      entry.is_out |= is_out;
      return view_at(static_cast<char*>(entry.view.raw()), host, ops_.device());
    }
  const int64_t offset = kLine + int64_t(reinterpret_cast<uintptr_t>(host.raw()) % kLine);
  const int64_t body = host.rows() * stride_bytes(host);
  Entry entry{host, Tensor::empty({offset + body + kLine}, DType::kU8, ops_.device()), {}, {}, is_out};
  entry.before.assign(size_t(entry.storage.size()), kGuard);
  const char* from = static_cast<const char*>(host.raw());
  for_each_row(host, offset, [&](size_t at, size_t bytes) {
    std::memcpy(entry.before.data() + at, from + (int64_t(at) - offset), bytes);
  });
  copy(entry.storage, Tensor::wrap(entry.before.data(), {entry.storage.size()}, DType::kU8));
  entry.view = view_at(static_cast<char*>(entry.storage.raw()) + offset, host, ops_.device());
  entries_.push_back(entry);
  return entry.view;
}

double Placed::number(double value) {
  numbers_.push_back(value);
  return value;
}

void Placed::check_surroundings(const Entry& entry, const std::vector<char>& after) const {
  std::vector<char> expected = entry.before;
  if (entry.is_out)
    for_each_row(entry.host, offset_of(entry.view, entry.storage), [&](size_t at, size_t bytes) {
      std::memcpy(expected.data() + at, after.data() + at, bytes);
    });
  for (size_t i = 0; i < expected.size(); ++i)
    if (expected[i] != after[i]) {
      ADD_FAILURE() << "byte " << int64_t(i) - offset_of(entry.view, entry.storage) << " from the start of "
                    << (entry.is_out ? "an output " : "an input ") << entry.host.shape_text() << " of stride "
                    << entry.host.row_stride() << " was written, which is no element of an output";
      return;
    }
}

std::vector<std::vector<char>> Placed::results() const {
  std::vector<std::vector<char>> results;
  for (const Entry& entry : entries_) {
    std::vector<char> after = bytes_of(entry.storage);
    check_surroundings(entry, after);
    if (entry.is_out) results.push_back(std::move(after));
  }
  for (const double& number : numbers_) {
    const char* bytes = reinterpret_cast<const char*>(&number);
    results.emplace_back(bytes, bytes + sizeof(double));
  }
  return results;
}

void Placed::write_back(const std::vector<std::vector<char>>& results) const {
  size_t next = 0;
  for (const Entry& entry : entries_) {
    if (!entry.is_out) continue;
    const char* from = results[next++].data();
    const int64_t offset = offset_of(entry.view, entry.storage);
    char* to = static_cast<char*>(entry.host.raw());
    for_each_row(entry.host, offset, [&](size_t at, size_t bytes) {
      std::memcpy(to + (int64_t(at) - offset), from + at, bytes);
    });
  }
}

void OpsUnderTest::run(const std::function<void(Placed&)>& call) const {
  std::vector<std::vector<char>> first;
  std::function<void()> finish;
  for_each_order([&](const Ops& ops, const std::string& order) {
    Placed placed(ops);
    call(placed);
    ops.stream().synchronize();
    auto results = placed.results();
    if (!finish) {
      first = std::move(results);
      finish = [placed, &first] { placed.write_back(first); };
    } else {
      EXPECT_TRUE(results == first) << "the results of order '" << order
                                    << "' differ from those of the first";
    }
  });
  finish();
}

}  // namespace zoetrope::test
