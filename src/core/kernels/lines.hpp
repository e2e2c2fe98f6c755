// Writes pieces that follow each other without gaps by whole lines, each stored once, for vectors of a line.
//
//   pieces  aaaaaaaaaaaaa|bbbbbbbbbbbbb|ccccccccccccc
//   lines   aaaaaaaa|aaaaabbb|bbbbbbbb|bbcccccc|ccccccc.
//
// A line that pieces share is merged in a register, by masked loads.
#pragma once

#include "kernels/contract.hpp"
#include "kernels/rows.hpp"

namespace dnnmove {
namespace {

template <class Simd, bool nontemporal>
class LineWriter {
public:
    LineWriter() = default;
    explicit LineWriter(std::byte* dst)
        : begin_(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(dst) & (kLine - 1))),
          end_(begin_),
          line_(dst - begin_) {}

    // Appends `bytes` bytes, and prefetches what lies `ahead` bytes further on, if not 0.
    void put(const std::byte* src, std::int64_t bytes, std::int64_t ahead) {
        shared_ = Simd::merge(shared_, src - end_, end_, end_ + bytes);
        if (ahead != 0) __builtin_prefetch(src + ahead);
        if (end_ + bytes < kLine) {
            end_ += bytes;
            return;
        }
        const std::byte* from = src + (kLine - end_);
        const std::byte* last = src + (bytes - kLine);
        store_shared();
        for (; from <= last; from += kLine) {
            if (ahead != 0) __builtin_prefetch(from + ahead);
            store_whole(Simd::load(from));
        }
        end_ = last + kLine - from;
        shared_ = Simd::load_partial(from, end_);
    }

    // Stores what the last line holds.
    void finish() {
        if (end_ > begin_) Simd::store_between(line_, shared_, begin_, end_);
    }

private:
    void store_shared() {
        if (begin_ == 0) return store_whole(shared_);
        Simd::store_between(line_, shared_, begin_, kLine);
        begin_ = 0;
        line_ += kLine;
    }

    void store_whole(typename Simd::Vector v) {
        put_vector<Simd, nontemporal>(line_, v);
        line_ += kLine;
    }

    static constexpr std::int64_t kLine = Simd::kBytes;

    // [begin_, end_) of the current line is in `shared_` and not stored yet.
    std::int64_t begin_;
    std::int64_t end_;
    std::byte* line_;
    typename Simd::Vector shared_{};
};

// Prefetch distances: along the records, and along each of the fields, which are many.
inline constexpr std::int64_t kRecordsAhead = 2048;
inline constexpr std::int64_t kFieldsAhead = 512;

template <class Simd>
void split_records(const RecordBlock& block, const std::byte* src, std::byte* const* dsts) noexcept {
    LineWriter<Simd, true> writers[kMaxRecordFields];
    for (std::int32_t k = 0; k < block.count; ++k) {
        const RecordField& field = block.fields[k];
        writers[k] = LineWriter<Simd, true>(dsts[field.buffer] + field.offset + block.begin * field.width);
    }
    const std::byte* record = src + block.begin * block.pitch;
    for (std::int64_t i = block.begin; i < block.end; ++i, record += block.pitch) {
        for (std::int32_t k = 0; k < block.count; ++k) {
            writers[k].put(record + block.fields[k].at, block.fields[k].width, kRecordsAhead);
        }
    }
    for (std::int32_t k = 0; k < block.count; ++k) writers[k].finish();
}

template <class Simd, bool nontemporal>
inline void join(const RecordBlock& block, const std::byte* const* srcs, std::byte* dst, std::int64_t ahead) {
    const std::byte* from[kMaxRecordFields];
    for (std::int32_t k = 0; k < block.count; ++k) {
        const RecordField& field = block.fields[k];
        from[k] = srcs[field.buffer] + field.offset + block.begin * field.width;
    }
    LineWriter<Simd, nontemporal> writer(dst + block.fields[0].at + block.begin * block.pitch);
    for (std::int64_t i = block.begin; i < block.end; ++i) {
        for (std::int32_t k = 0; k < block.count; ++k) {
            writer.put(from[k], block.fields[k].width, ahead);
            from[k] += block.fields[k].width;
        }
    }
    writer.finish();
}

template <class Simd>
void join_records(const RecordBlock& block, const std::byte* const* srcs, std::byte* dst, KernelStores stores) noexcept {
    const std::int64_t share = kRecordsAhead / block.count;
    const std::int64_t ahead = !stores.prefetch ? 0 : share > kFieldsAhead ? share : kFieldsAhead;
    if (stores.nontemporal) {
        join<Simd, true>(block, srcs, dst, ahead);
    } else {
        join<Simd, false>(block, srcs, dst, ahead);
    }
}

}  // namespace
}  // namespace dnnmove
