// What every operator but products and attention must do, whatever the backend: one function a group of
// operators, each over a table of awkward shapes, types, alignments and segments, against plain loops in
// double within bounds that follow from the data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "tests/support/ops_under_test.h"

namespace zoetrope::test {

inline constexpr DType kTypes[] = {DType::kF32, DType::kBF16};
/// Rows and widths: none, single, around a warp, around multiples of a vector, some blocks of rows.
inline constexpr int64_t kRowCounts[] = {0, 1, 2, 33, 257};
inline constexpr int64_t kWidths[] = {1, 2, 31, 32, 33, 127, 128, 257};

/// How rows lie in memory: anywhere, all on 16 bytes with room between them, or one after the other.
enum class Layout { kOdd, kAligned, kDense };
inline constexpr Layout kLayouts[] = {Layout::kOdd, Layout::kAligned, Layout::kDense};
/// "odd", "aligned", "dense".
const char* name_of(Layout layout);
/// A matrix of random numbers, or of NaN for outputs.
Tensor random_rows(Layout layout, int64_t rows, int64_t columns, uint64_t seed, DType dtype = DType::kF32,
                   double scale = 1, double offset = 0);
Tensor nan_rows(Layout layout, int64_t rows, int64_t columns, DType dtype = DType::kF32);
inline Tensor nan_vector(int64_t size) { return nan_rows(Layout::kDense, 1, size).reshape({size}); }

/// Segments of rows [T]: of even lengths, or of very different ones in falling order of their numbers.
enum class Lengths { kEven, kUneven };
inline constexpr Lengths kLengths[] = {Lengths::kEven, Lengths::kUneven};
/// `S` of them; a segment may have no rows.
Tensor segments_of(int64_t T, int64_t S, Lengths lengths);
/// The segment of row t.
inline int64_t segment_at(const Tensor& segment, int64_t t) { return segment.data<int32_t>()[t]; }

void check_layer_norms(const OpsUnderTest& backend);
void check_rms_norm_rope(const OpsUnderTest& backend);
void check_activations(const OpsUnderTest& backend);
void check_gate_residual(const OpsUnderTest& backend);
void check_convert(const OpsUnderTest& backend);
void check_zero(const OpsUnderTest& backend);
void check_losses(const OpsUnderTest& backend);
void check_adamw(const OpsUnderTest& backend);
void check_flow_inputs(const OpsUnderTest& backend);
void check_flow_steps(const OpsUnderTest& backend);
void check_add_row(const OpsUnderTest& backend);
/// Long inputs: many blocks of rows, sums of many segments, more segments than one launch takes.
void check_long_inputs(const OpsUnderTest& backend);
/// Wrong shapes and types are refused before anything runs.
void check_refusals(const OpsUnderTest& backend);

}  // namespace zoetrope::test
