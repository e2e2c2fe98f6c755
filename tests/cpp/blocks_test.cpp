// Copies that are read in blocks, beyond the caches: rows of whole lines, transposes by way of a stage or with far rows, and
// permutations of many axes.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <random>

#include "plan/program.hpp"
#include "runtime/cpu.hpp"
#include "test.hpp"

using namespace dnnmove;

namespace {

bool memory_left = true;  // for what may do without
int refused = 0;

}  // namespace

// What a walk asks for, and nothing else here does.
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    if (!memory_left) {
        ++refused;
        return nullptr;
    }
    const auto line = static_cast<std::size_t>(alignment);
    return std::aligned_alloc(line, (size + line - 1) / line * line);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    const auto line = static_cast<std::size_t>(alignment);
    void* const bytes = std::aligned_alloc(line, (size + line - 1) / line * line);
    return bytes != nullptr ? bytes : throw std::bad_alloc();
}
void operator delete(void* bytes, std::align_val_t) noexcept { std::free(bytes); }
void operator delete(void* bytes, std::size_t, std::align_val_t) noexcept { std::free(bytes); }

namespace {

struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
};
using Lines = std::unique_ptr<std::byte, Free>;

// `bytes` bytes from a line on, and a line behind them.
Lines lines(std::int64_t bytes, std::mt19937& random) {
    const auto size = static_cast<std::size_t>((bytes + 127) / 64 * 64);
    auto* all = static_cast<std::byte*>(std::aligned_alloc(64, size));
    std::memcpy(all, testing::random_bytes(size, random).data(), size);
    return Lines(all);
}

void reference(const Nest& nest, const std::byte* src, std::byte* dst, std::size_t loop = 0) {
    if (loop == nest.loops.size()) {
        std::memcpy(dst + nest.dst_offset, src + nest.src_offset, static_cast<std::size_t>(nest.itemsize));
        return;
    }
    const Loop& now = nest.loops[loop];
    for (std::int64_t k = 0; k < now.extent; ++k) reference(nest, src + k * now.src_stride, dst + k * now.dst_stride, loop + 1);
}

// The nests read `src_bytes` of one source, from `shift` on, and write `dst_bytes` of a destination each, past the caches.
// For every kind of processor; the text that explains the program for `told`.
std::string check_copies(const std::vector<Nest>& nests, std::int64_t src_bytes, std::int64_t dst_bytes, std::int64_t shift = 0,
                         const Processor& told = kManyStreams) {
    std::mt19937 random(static_cast<unsigned>(src_bytes));
    const Lines src = lines(src_bytes + shift, random);
    std::vector<Lines> got;
    std::vector<Lines> expected;
    std::vector<std::byte*> to;
    std::vector<Transfer> transfers;
    for (std::size_t k = 0; k < nests.size(); ++k) {
        got.push_back(lines(dst_bytes, random));
        expected.push_back(lines(dst_bytes, random));
        std::memcpy(expected[k].get(), got[k].get(), static_cast<std::size_t>(dst_bytes + 64) / 64 * 64);
        reference(nests[k], src.get() + shift, expected[k].get());
        to.push_back(got[k].get());
        transfers.push_back({0, static_cast<int>(k), nests[k]});
    }
    PlanOptions options;
    options.dst_alignment = 64;
    options.variant.stores = Variant::Stores::nontemporal;
    std::string text;
    for (const Processor* processor : {&kFewStreams, &kManyStreams}) {
        options.processor = processor;
        const Program program(transfers, options);
        for (const int threads : {1, 2}) {
            const std::byte* from = src.get() + shift;
            program.execute(&from, to.data(), threads);
            for (std::size_t k = 0; k < nests.size(); ++k) {
                CHECK(std::memcmp(got[k].get(), expected[k].get(), static_cast<std::size_t>(dst_bytes + 64) / 64 * 64) == 0);
                std::memset(got[k].get(), 0xa5, static_cast<std::size_t>(dst_bytes));
            }
        }
        if (processor == &told) text = program.explain(1);
    }
    return text;
}

// Rows (batch, length, heads) of `row` bytes, `repeats` times each, to (batch, heads, repeats, length).
Nest heads(std::int64_t batch, std::int64_t length, std::int64_t heads, std::int64_t row, std::int64_t repeats,
           std::int64_t pitch) {
    Nest nest;
    nest.itemsize = row;
    nest.loops = {{batch, length * pitch, heads * repeats * length * row},
                  {heads, row, repeats * length * row},
                  {repeats, 0, length * row},
                  {length, pitch, row}};
    return nest;
}

}  // namespace

TEST_CASE("rows are copied in blocks, with what is left of the last") {
    for (const std::int64_t length : {17, 50, 100}) {
        for (const std::int64_t repeats : {1, 3}) {
            const Nest nest = heads(3, length, 8, 256, repeats, 8 * 256);
            const std::string text = check_copies({nest}, 3 * length * 8 * 256, 3 * length * 8 * 256 * repeats);
            CHECK(text.find("tiles of rows, 8") != std::string::npos);
        }
    }
}

TEST_CASE("rows of one source go to several destinations") {
    std::vector<Nest> nests;
    for (std::int64_t k = 0; k < 3; ++k) {
        nests.push_back(heads(2, 70, 12, 128, 1, 3 * 12 * 128));
        nests.back().src_offset = k * 12 * 128;
    }
    const std::string text = check_copies(nests, 2 * 70 * 3 * 12 * 128, 2 * 70 * 12 * 128);
    CHECK(text.find("tiles of rows, 12") != std::string::npos);
    // Two of the three are no whole rows: they are copied all the same.
    nests.erase(nests.begin() + 1);
    check_copies(nests, 2 * 70 * 3 * 12 * 128, 2 * 70 * 12 * 128);
}

TEST_CASE("transposes of any sides are staged or read in blocks") {
    for (const std::int64_t width : {1, 2, 4, 8, 16}) {
        for (const std::int64_t rows : {64, 320, 1104}) {
            for (const std::int64_t pitch : {8192, 8256}) {
                for (const std::int64_t shift : {0, 16}) {
                    const std::int64_t columns = 4096 / width - (rows == 320 ? 3 : 0);
                    Nest nest;
                    nest.itemsize = width;
                    nest.loops = {{columns, width, rows * width}, {rows, pitch, width}};
                    const std::string text = check_copies({nest}, rows * pitch, columns * rows * width, shift);
                    const bool far = pitch == 8192 && rows == 1104 && width == 4;
                    if (far) CHECK(text.find("source in blocks of 512 B of each row") != std::string::npos);
                }
            }
        }
    }
}

// `order` of the axes of an array, all of whose steps go back along `reversed`, if that is an axis.
Nest permuted(const std::vector<std::int64_t>& shape, const std::vector<std::size_t>& order, std::int64_t itemsize,
              std::size_t reversed) {
    Nest nest;
    nest.itemsize = itemsize;
    std::vector<std::int64_t> src_strides(shape.size());
    std::int64_t bytes = itemsize;
    for (std::size_t k = shape.size(); k-- > 0; bytes *= shape[k]) src_strides[k] = bytes;
    std::int64_t dst_stride = itemsize;
    for (std::size_t k = order.size(); k-- > 0; dst_stride *= shape[order[k]]) {
        const std::size_t axis = order[k];
        if (axis == reversed) nest.src_offset = (shape[axis] - 1) * src_strides[axis];
        nest.loops.insert(nest.loops.begin(),
                          {shape[axis], axis == reversed ? -src_strides[axis] : src_strides[axis], dst_stride});
    }
    return nest;
}

TEST_CASE("permutations of many axes are moved by blocks") {
    const std::vector<std::int64_t> shape{3, 5, 2, 4, 3, 2, 5, 3, 4, 3, 2};
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= extent;
    std::mt19937 random(7);
    int by_blocks = 0;
    for (int round = 0; round < 30; ++round) {
        std::vector<std::size_t> order(shape.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::shuffle(order.begin(), order.end(), random);
        const std::int64_t itemsize = std::vector<std::int64_t>{1, 2, 3, 4, 8, 16}[static_cast<std::size_t>(round % 6)];
        const Nest nest = permuted(shape, order, itemsize, round % 3 == 0 ? random() % shape.size() : shape.size());
        CAPTURE(round);
        const auto check = [&] {
            return check_copies({nest}, elements * itemsize, elements * itemsize, round % 2 * 16, kFewStreams);
        };
        by_blocks += check().find("moved by blocks") != std::string::npos ? 1 : 0;
        // And where there is none for the stage.
        memory_left = false;
        check();
        memory_left = true;
    }
    CHECK(refused >= by_blocks);
    CHECK(by_blocks > 5);
    CHECK(by_blocks < 30);
}

TEST_CASE("patches are read in blocks of their rows") {
    // (height, p) x (width, q) of 12 channels to (height, width) patches of channels x p x q, with a repeat or not.
    for (const std::int64_t width : {5, 24, 25}) {
        for (const std::int64_t repeats : {1, 2}) {
            constexpr std::int64_t kSide = 14, kHeight = 3, kChannels = 12, kItem = 4;
            const std::int64_t run = kSide * kItem;
            const std::int64_t pitch = width * run;
            const std::int64_t plane = kHeight * kSide * pitch;
            const std::int64_t patch = kChannels * repeats * kSide * run;
            Nest nest;
            nest.itemsize = run;
            nest.loops = {{kHeight, kSide * pitch, width * patch},
                          {width, run, patch},
                          {kChannels, plane, repeats * kSide * run},
                          {repeats, 0, kSide * run},
                          {kSide, pitch, run}};
            const std::string text = check_copies({nest}, kChannels * plane, kHeight * width * patch);
            INFO(text);
            if (width > 5) CHECK(text.find("source in blocks of 168 x") != std::string::npos);
        }
    }
}
