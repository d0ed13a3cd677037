// What the cuBLASLt stand-in refuses: shapes, types and pointers that the real library does not promise to
// take.
#include <sstream>
#include <vector>

#include "tests/simt/blas.h"
#include "tests/simt/memory.h"

namespace simt::blas {
namespace {

using Layout = cublasLtMatrixLayoutOpaque_t;

/// Elements from the first to the last of a matrix, all batches.
uint64_t span(const Layout& x) {
  return uint64_t(x.batch - 1) * uint64_t(x.batch_stride) + (x.columns - 1) * uint64_t(x.leading) + x.rows;
}

std::string layout_error(const char* name, const Layout& x) {
  std::ostringstream out;
  if (x.rows == 0 || x.columns == 0) out << name << " has no elements";
  else if (x.order != CUBLASLT_ORDER_COL)
    out << name << " is not column-major, and this stand-in takes nothing else";
  else if (x.leading < int64_t(x.rows))
    out << name << ": leading dimension " << x.leading << " of a matrix with " << x.rows << " rows";
  else if (x.type != CUDA_R_32F && x.type != CUDA_R_16BF) out << name << ": element type " << int(x.type);
  else if (x.batch < 1) out << name << ": batch of " << x.batch;
  return out.str();
}

bool known_epilogue(uint32_t epilogue) {
  for (const uint32_t known :
       {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_AUX,
        CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_DGELU,
        CUBLASLT_EPILOGUE_DGELU_BGRAD, CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADB})
    if (epilogue == known) return true;
  return false;
}
bool uses_bias(const Product& p) { return p.has(kBias | kBiasGradient | kGradientOfA | kGradientOfB); }
uint64_t bias_length(const Product& p) { return p.has(kGradientOfB) ? p.n() : p.m(); }

struct Range {
  const char* name;
  const void* data;
  uint64_t bytes;
  uint64_t alignment;
};

bool overlap(const Range& x, const Range& y) {
  const char *a = static_cast<const char*>(x.data), *b = static_cast<const char*>(y.data);
  return a < b + y.bytes && b < a + x.bytes;
}

}  // namespace

size_t width_of(cudaDataType type) { return type == CUDA_R_16BF ? 2 : type == CUDA_R_64F ? 8 : 4; }

std::string Product::text() const {
  std::ostringstream out;
  out << "product " << m() << " x " << n() << " x " << k()
      << (what.transpose_a == CUBLAS_OP_N ? ", A" : ", A^T")
      << (what.transpose_b == CUBLAS_OP_N ? " B" : " B^T") << ", epilogue " << what.epilogue;
  return out.str();
}

std::string shape_error(const Product& p) {
  const struct {
    const char* name;
    const Layout* layout;
  } all[] = {{"A", &p.a}, {"B", &p.b}, {"C", &p.c}, {"D", &p.d}};
  for (const auto& each : all) {
    const std::string wrong = layout_error(each.name, *each.layout);
    if (!wrong.empty()) return wrong;
    if (each.layout->batch != p.d.batch) return std::string(each.name) + " has another batch count than D";
  }
  const bool a_plain = p.what.transpose_a == CUBLAS_OP_N, b_plain = p.what.transpose_b == CUBLAS_OP_N;
  const uint64_t a_rows = a_plain ? p.a.rows : p.a.columns, a_columns = a_plain ? p.a.columns : p.a.rows;
  const uint64_t b_rows = b_plain ? p.b.rows : p.b.columns, b_columns = b_plain ? p.b.columns : p.b.rows;
  std::ostringstream out;
  if (a_rows != p.m() || a_columns != b_rows || b_columns != p.n() || p.c.rows != p.m() ||
      p.c.columns != p.n())
    out << "op(A) [" << a_rows << ", " << a_columns << "], op(B) [" << b_rows << ", " << b_columns << "], C ["
        << p.c.rows << ", " << p.c.columns << "], D [" << p.m() << ", " << p.n() << "] do not fit";
  else if (p.a.type != p.b.type || p.c.type != p.d.type || (p.a.type == CUDA_R_32F && p.d.type != CUDA_R_32F))
    out << "types A " << int(p.a.type) << ", B " << int(p.b.type) << ", C " << int(p.c.type) << ", D "
        << int(p.d.type) << " are no combination of f32 accumulation";
  else if (!known_epilogue(p.what.epilogue)) out << "epilogue " << p.what.epilogue << " does not exist";
  else if (p.what.epilogue != CUBLASLT_EPILOGUE_DEFAULT && p.d.batch > 1) out << "an epilogue on a batch";
  else if (uses_bias(p) && p.what.bias_type >= 0 && p.what.bias_type != int32_t(p.d.type))
    out << "bias of type " << p.what.bias_type << ", D of type " << int(p.d.type);
  else if (p.has(kAux) && (p.what.aux_leading % 8 != 0 || p.what.aux_leading < int64_t(p.m())))
    out << "leading dimension " << p.what.aux_leading
        << " of the auxiliary matrix; a multiple of 8, at least " << p.m();
  else if (p.has(kAux) && p.what.aux_type >= 0 && p.what.aux_type != int32_t(p.d.type))
    out << "auxiliary matrix of type " << p.what.aux_type << ", D of type " << int(p.d.type);
  return out.str();
}

std::string pointer_error(const Product& p, const uint32_t (&alignment)[5]) {
  const uint64_t width = width_of(p.d.type);
  const Range a{"A", p.a_data, span(p.a) * width_of(p.a.type), alignment[0]};
  const Range b{"B", p.b_data, span(p.b) * width_of(p.b.type), alignment[1]};
  const Range c{"C", p.c_data, span(p.c) * width, alignment[2]};
  const Range d{"D", p.d_data, span(p.d) * width, alignment[3]};
  std::vector<Range> inputs{a, b}, outputs{d};
  const bool reads_c = p.beta != 0;
  if (uses_bias(p))
    (p.has(kBias) ? inputs : outputs).push_back({"bias", p.what.bias, bias_length(p) * width, alignment[4]});
  if (p.has(kAux)) {
    const uint64_t bytes = ((p.n() - 1) * uint64_t(p.what.aux_leading) + p.m()) * width;
    (p.has(kGelu) ? outputs : inputs).push_back({"auxiliary matrix", p.what.aux, bytes, 16});
  }
  if (p.workspace_bytes > 0) outputs.push_back({"work space", p.workspace, p.workspace_bytes, 16});
  std::vector<Range> all = inputs;
  all.insert(all.end(), outputs.begin(), outputs.end());
  if (reads_c) all.push_back(c);
  for (const Range& range : all) {
    const std::string wrong = cuda::device_range_error(range.data, range.bytes);
    if (!wrong.empty()) return std::string(range.name) + ": " + wrong;
    if (reinterpret_cast<uintptr_t>(range.data) % range.alignment != 0)
      return std::string(range.name) + " is not aligned to the " + std::to_string(range.alignment) +
             " bytes that the algorithm was chosen for";
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const Range& input : inputs)
      if (overlap(outputs[i], input)) return std::string(outputs[i].name) + " overlaps " + input.name;
    for (size_t j = i + 1; j < outputs.size(); ++j)
      if (overlap(outputs[i], outputs[j]))
        return std::string(outputs[i].name) + " overlaps " + outputs[j].name;
    const bool in_place = i == 0 && p.c_data == p.d_data && p.c.leading == p.d.leading;
    if (reads_c && !in_place && overlap(outputs[i], c)) return std::string(outputs[i].name) + " overlaps C";
  }
  return "";
}

}  // namespace simt::blas
