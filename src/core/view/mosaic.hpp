// A mosaic: an array put together from strided boxes of its sources. What an operation makes of its data, and a chain of many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "array/dims.hpp"
#include "plan/nest.hpp"
#include "plan/transfer.hpp"
#include "view/pool.hpp"
#include "view/positions.hpp"

namespace dnnmove::view {

// A box: every combination of one position per axis. Its bytes lie at `offset` plus the offsets and
// strides of the positions.
struct Piece {
    std::int64_t offset = 0;  // address in bytes; of one source: from its base
    PooledList<Positions> axes;
    bool operator==(const Piece&) const = default;
};

using Pieces = PooledList<Piece>;

// The most boxes that an operation may leave, beyond those that the sources have.
inline constexpr std::size_t kMaxPieces = 256;

// An array that is there: lengths, and strides in bytes.
struct Source {
    Dims shape;
    Dims strides;
};

// An array that is not there yet: its pieces are disjoint and cover it. No piece where it is empty.
// The boxes may lie anywhere, so an axis may be cut across its digits. Each operation throws TooManyBoxes when it leaves
// more than kMaxPieces. Shuffles, transposes, splits and broadcasts of an array that is there leave one. Arguments are
// valid already.
//
// Of several sources, source i begins at address i * pitch, with a pitch so large that an address tells its source and
// the difference of two addresses how many sources lie between them. So N sources that lie alike are one axis of
// stride `pitch`, and every operation works as on one array. Only apart() takes the sources apart again.
// Constants are sources, too, of one element: the k-th lies at address -(k + 1) * pitch.
class Mosaic {
public:
    // The array itself; strides in bytes.
    Mosaic(const Dims& shape, const Dims& strides, std::int64_t itemsize);
    // Several, one behind another along `axis`, where they begin at `starts`; or each an element of a new axis.
    static Mosaic concat(const std::vector<Source>& sources, std::size_t axis, const Dims& starts, std::int64_t itemsize);
    static Mosaic stack(const std::vector<Source>& sources, std::size_t axis, std::int64_t itemsize);
    // Row-major.
    static Mosaic dense(const Dims& shape, std::int64_t itemsize);

    const Dims& shape() const { return shape_; }
    std::int64_t itemsize() const { return itemsize_; }
    const Pieces& pieces() const { return pieces_; }
    std::int64_t bytes() const { return element_count(shape_) * itemsize_; }

    Mosaic transpose(const std::vector<std::size_t>& order) const;
    // The axis seen as (length / low, low) with the two swapped.
    Mosaic swap_halves(std::size_t axis, std::int64_t low) const;
    // Elements begin, begin + step, ..., `count` of them; step may be negative, not 0.
    Mosaic take(std::size_t axis, std::int64_t begin, std::int64_t step, std::int64_t count) const;
    // Several such runs one after another; a step of 0 repeats one element.
    struct Run {
        std::int64_t begin;
        std::int64_t step;
        std::int64_t count;
    };
    Mosaic take(std::size_t axis, const std::vector<Run>& runs) const;
    // Consecutive ranges of `lengths`, from the first element on.
    std::vector<Mosaic> split(std::size_t axis, const Dims& lengths) const;
    // The elements at `indices` of the axis, in that order: as boxes where few do, else as tables of offsets; list:
    // as tables always, which makes no more pieces than there are.
    Mosaic gather(std::size_t axis, const Dims& indices) const;
    Mosaic list(std::size_t axis, const Dims& indices) const;
    // Windows of `size` elements, `step` apart, of the axis; what is within them becomes a new last axis.
    Mosaic windows(std::size_t axis, std::int64_t size, std::int64_t step) const;
    Mosaic reshape(const Dims& shape) const;
    // More elements before and behind those of the axis, of bytes `value`.
    Mosaic pad(std::size_t axis, std::int64_t before, std::int64_t after, const Constant& value) const;
    // Axis i becomes axis to[i] of `shape`; axes of length 1 and the new ones repeat.
    Mosaic broadcast(const Dims& shape, const std::vector<std::size_t>& to) const;

    // The nests that copy it to an array of byte strides `strides`, from addresses.
    std::vector<Nest> nests(const Dims& strides) const;
    // The same for a row-major array: fewer, since they may cross axes.
    std::vector<Nest> dense_nests() const;
    // Transfers of its nests, whose `src` is the number of the first source, source by source.
    std::vector<Transfer> apart(std::vector<Transfer> transfers) const;
    // The source of an address and the bytes from its base, also of the difference of two addresses.
    struct Place {
        std::int64_t source = 0;
        std::int64_t offset = 0;
    };
    Place place(std::int64_t address) const;
    // "[4@9744, 58@84 2@4872, 21@4]": the digits of every axis as length@source stride in bytes, and
    // " from byte 84" where they start at an offset; "8@source" walks from source to source. "in 3 blocks" where it
    // has several pieces.
    std::string describe() const;

    bool operator==(const Mosaic&) const = default;

private:
    Mosaic() = default;
    // No pieces, of the same sources.
    Mosaic blank(Dims shape) const;
    void add(Pieces& pieces, Piece piece) const;
    void join();
    // take() of boxes that are not joined yet.
    Mosaic cut_out(std::size_t axis, std::int64_t begin, std::int64_t step, std::int64_t count) const;
    bool empty() const;
    // The address of a constant, which becomes one of the mosaic's if it is none.
    std::int64_t address_of(const Constant& value);
    // The sources that lie alike become one piece each, as far as their places allow; `fresh`: `axis` is a new one.
    static Mosaic joined(const std::vector<Source>& sources, Dims shape, std::size_t axis, const Dims& starts, bool fresh,
                         std::int64_t itemsize);

    Dims shape_;
    std::int64_t itemsize_ = 1;
    std::int64_t pitch_ = 0;  // bytes, a power of two; 0: there is one source and no constant
    std::vector<Constant> constants_;
    std::size_t most_ = kMaxPieces;
    Pieces pieces_;
};

}  // namespace dnnmove::view
