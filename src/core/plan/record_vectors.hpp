// Builds the tables by which short records are joined and split, vector by vector.
#pragma once

#include <optional>
#include <vector>

#include "kernels/contract.hpp"

namespace dnnmove {

// An owned RecordVectors.
struct RecordVectorTable {
    static constexpr std::int64_t kMaxVectors = 5;  // of a block
    static constexpr std::int64_t kMaxBytes = kMaxVectors * kLine;
    static constexpr std::int64_t kMaxSplitPitch = 2 * kLine;  // two records at least are within two lines
    static constexpr std::size_t kMaxFields = kMaxVectors * RecordVectors::kMaxPieces;

    std::vector<RecordVector> vectors;
    std::vector<RecordPiece> pieces;
    std::vector<std::int64_t> widths;
    std::int64_t pitch = 0;
    std::int64_t records = 0;  // of a block
    std::int64_t piece_bytes = 0;

    RecordVectors block() const {
        return {vectors.data(),
                pieces.data(),
                widths.data(),
                static_cast<std::int32_t>(widths.size()),
                static_cast<std::int32_t>(vectors.size()),
                pitch,
                records,
                piece_bytes};
    }
    // Estimated cycles of a record with everything in the second-level cache.
    double cycles = 0;
    // Bytes that it holds.
    std::size_t memory() const;
};

// To join fields of `widths` bytes, in their order, without gaps; and to split them off records of `pitch` bytes, where they lie at
// `places`, in their order, the first at 0. Empty where records are too long, or have too many fields, for the kernels, where no
// two of them are split at once, and where fields or records to be split overlap.
std::optional<RecordVectorTable> join_table(const std::vector<std::int64_t>& widths, const Kernels& kernels);
std::optional<RecordVectorTable> split_table(const std::vector<std::int64_t>& widths, const std::vector<std::int64_t>& places,
                                             std::int64_t pitch, const Kernels& kernels);

}  // namespace dnnmove
