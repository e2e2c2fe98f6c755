// oneDNN behind onednn.hpp; the only file that sees dnnl.hpp. Compiles against oneDNN 3.2 and newer.
#include "onednn/onednn.hpp"

#include <dnnl.hpp>
#include <dnnl_debug.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <unordered_map>

#include "onednn/onednn_errors.hpp"
#include "onednn/onednn_threads.hpp"
#include "runtime/error.hpp"
#include "runtime/fork_gate.hpp"
#include "runtime/threads.hpp"

namespace dnnmove::onednn {

using python::OneDnnError;

struct Engine::Impl {
    dnnl::engine engine;
};

struct Stream::Impl {
    dnnl::stream stream;
};

namespace {

static_assert(kUnimplemented == dnnl_unimplemented);
static_assert(kArgSrc == DNNL_ARG_SRC && kArgDst == DNNL_ARG_DST && kArgScratchpad == DNNL_ARG_SCRATCHPAD);
static_assert(kArgDiffSrc == DNNL_ARG_DIFF_SRC && kArgDiffDst == DNNL_ARG_DIFF_DST);
static_assert(kArgMultipleSrc == DNNL_ARG_MULTIPLE_SRC && kArgMultipleDst == DNNL_ARG_MULTIPLE_DST);
static_assert(static_cast<int>(PropKind::forward_training) == dnnl_forward_training);
static_assert(static_cast<int>(PropKind::forward_inference) == dnnl_forward_inference);
static_assert(static_cast<int>(PropKind::backward_data) == dnnl_backward_data);

// Runs `body`, with oneDNN's exceptions turned into ours.
template <typename Body>
auto guarded(const char* what, Body body) {
    try {
        return body();
    } catch (const dnnl::error& error) {
        if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
        throw OneDnnError(std::string(what) + ": oneDNN reports " + dnnl_status2str(error.status), error.status);
    }
}

// The same for what makes oneDNN's objects: it takes oneDNN's locks, and threads wait for one another in its cache of
// primitives, which a child forked meanwhile would do for ever.
template <typename Body>
auto creating(const char* what, Body body) {
    const HeldFork held;
    return guarded(what, body);
}

dnnl::memory::data_type lower(DataType type) {
    using dnnl_type = dnnl::memory::data_type;
    switch (type) {
        case DataType::f32: return dnnl_type::f32;
        case DataType::f64: return dnnl_type::f64;
        case DataType::f16: return dnnl_type::f16;
        case DataType::bf16: return dnnl_type::bf16;
        case DataType::s32: return dnnl_type::s32;
        case DataType::s8: return dnnl_type::s8;
        case DataType::u8: return dnnl_type::u8;
#if DNNL_VERSION_MAJOR > 3 || DNNL_VERSION_MINOR >= 5
        case DataType::f8_e4m3: return dnnl_type::f8_e4m3;
        case DataType::f8_e5m2: return dnnl_type::f8_e5m2;
#endif
        default: return dnnl_type::undef;
    }
}

// Canonical tag -> oneDNN's number, for all tags of the library.
const std::unordered_map<std::string, dnnl_format_tag_t>& tags() {
    static const auto* all = [] {
        auto* map = new std::unordered_map<std::string, dnnl_format_tag_t>;
        for (int number = dnnl_format_tag_any + 1; number < dnnl_format_tag_last; ++number) {
            const auto tag = static_cast<dnnl_format_tag_t>(number);
            map->emplace(dnnl_fmt_tag2str(tag), tag);
        }
        return map;
    }();
    return *all;
}

dnnl::memory::desc lower(const Layout& layout, DataType type) {
    const dnnl::memory::dims dims(layout.dims.begin(), layout.dims.end());
    if (layout.blocked()) {
        return {dims, lower(type), static_cast<dnnl::memory::format_tag>(tags().at(layout.tag))};
    }
    // Strides that do not matter are made ordinary ones: oneDNN's checks and sizes look at them.
    dnnl::memory::dims strides(layout.ndim());
    const bool empty = layout.empty();
    for (std::size_t axis = layout.ndim(); axis-- > 0;) {
        if (!empty && layout.dims[axis] > 1) {
            strides[axis] = layout.strides[axis] / layout.itemsize;
        } else {
            strides[axis] = axis + 1 < layout.ndim() ? strides[axis + 1] * std::max<std::int64_t>(1, layout.dims[axis + 1]) : 1;
        }
    }
    return {dims, lower(type), strides};
}

dnnl::primitive_attr user_scratchpad() {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attr;
}

// The caller's stream, or one that belongs to this thread.
const dnnl::stream& stream_or_own(const Stream* stream, const dnnl::engine& engine) {
    if (stream != nullptr) return stream->impl().stream;
    thread_local const dnnl::stream own = [&engine] {
        const HeldFork held;
        return dnnl::stream(engine);
    }();
    return own;
}

struct Free {
    void operator()(void* pointer) const { std::free(pointer); }
};

// Runs a primitive with scratch memory of this call, so that one primitive serves many threads.
void execute(const dnnl::primitive& primitive, const dnnl::engine& engine, const Stream* stream,
             const dnnl::memory::desc& scratchpad, std::unordered_map<int, dnnl::memory> args, int threads) {
    std::unique_ptr<void, Free> scratch;
    const std::size_t bytes = scratchpad.get_size();
    if (bytes > 0) {
        scratch.reset(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
        if (!scratch) throw std::bad_alloc();
        args.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(scratchpad, engine, scratch.get()));
    }
    const ScopedOpenMPThreads scoped(threads);
    dnnl::stream queue = stream_or_own(stream, engine);
    primitive.execute(queue, args);
    queue.wait();
}

void* writable(const std::byte* data) { return const_cast<std::byte*>(data); }

}  // namespace

std::string version() {
    const dnnl_version_t* loaded = dnnl_version();
    return std::to_string(loaded->major) + "." + std::to_string(loaded->minor) + "." + std::to_string(loaded->patch);
}

std::string version_hash() { return dnnl_version()->hash; }

std::string cpu_runtime() {
    switch (dnnl_version()->cpu_runtime) {
        case DNNL_RUNTIME_NONE: return "none";
        case DNNL_RUNTIME_SEQ: return "sequential";
        case DNNL_RUNTIME_OMP: return "OpenMP";
        case DNNL_RUNTIME_TBB: return "TBB";
        case DNNL_RUNTIME_THREADPOOL: return "threadpool";
        default: return "other";
    }
}

const void* address_in_library() { return reinterpret_cast<const void*>(&dnnl_version); }

void set_verbose(std::int64_t level) {
    const bool fits = level >= 0 && level <= std::numeric_limits<int>::max();
    if (!fits || dnnl_set_verbose(static_cast<int>(level)) != dnnl_success) {
        throw ValueError("level (" + std::to_string(level) + ") must be 0, 1 or 2: oneDNN " + version() + " has no other");
    }
}

void set_primitive_cache_capacity(int capacity) {
    creating("set_primitive_cache_capacity", [capacity] { dnnl::set_primitive_cache_capacity(capacity); });
}

int primitive_cache_capacity() {
    return creating("get_primitive_cache_capacity", [] { return dnnl::get_primitive_cache_capacity(); });
}

Engine::Engine(std::size_t index)
    : impl_(creating("Engine",
                     [index] { return std::make_shared<const Impl>(Impl{dnnl::engine(dnnl::engine::kind::cpu, index)}); })) {}

const std::shared_ptr<Engine>& Engine::cpu() {
    // Never destroyed: objects of other threads may outlive static destruction.
    static const auto* engine = new std::shared_ptr<Engine>(std::make_shared<Engine>(0));
    return *engine;
}

std::size_t Engine::count() { return dnnl::engine::get_count(dnnl::engine::kind::cpu); }

Stream::Stream(std::shared_ptr<Engine> engine)
    : engine_(std::move(engine)),
      impl_(creating("Stream", [this] { return std::make_shared<const Impl>(Impl{dnnl::stream(engine_->impl().engine)}); })) {}

void Stream::wait() const {
    guarded("Stream.wait", [this] {
        dnnl::stream queue = impl_->stream;
        queue.wait();
    });
}

bool has_tag(const std::string& canonical) { return tags().count(canonical) != 0; }

std::vector<std::pair<std::string, int>> all_tags() {
    std::vector<std::pair<std::string, int>> all;
    for (const auto& [name, tag] : tags()) all.emplace_back(name, static_cast<int>(tag));
    return all;
}

namespace {

Layout raise(const dnnl::memory::desc& desc) {
    Layout layout;
    layout.dims = desc.get_dims();
    layout.padded_dims = desc.get_padded_dims();
    layout.strides = desc.get_strides();
    layout.inner_blocks = desc.get_inner_blks();
    layout.inner_indices = desc.get_inner_idxs();
    layout.itemsize = static_cast<std::int64_t>(dnnl::memory::data_type_size(desc.get_data_type()));
    for (std::int64_t& stride : layout.strides) stride *= layout.itemsize;
    layout.offset = desc.get_submemory_offset() * layout.itemsize;
    return layout;
}

template <typename Derive>
std::optional<Layout> derived(const Layout& layout, DataType type, const Derive& derive) {
    return guarded("memory descriptor", [&]() -> std::optional<Layout> {
        const dnnl::memory::desc desc = derive(lower(layout, type));
        return desc.get(true) == nullptr ? std::nullopt : std::optional(raise(desc));
    });
}

}  // namespace

Layout layout_of_tag(int tag, const Dims& dims, DataType type) {
    return guarded("layout_of_tag", [&] {
        Layout layout = raise(dnnl::memory::desc(dnnl::memory::dims(dims.begin(), dims.end()), lower(type),
                                                 static_cast<dnnl::memory::format_tag>(tag)));
        layout.tag = dnnl_fmt_tag2str(static_cast<dnnl_format_tag_t>(tag));
        return layout;
    });
}

std::optional<Layout> permute_axes(const Layout& layout, DataType type, const Dims& permutation) {
    const std::vector<int> to(permutation.begin(), permutation.end());
    return derived(layout, type, [&](const dnnl::memory::desc& desc) { return desc.permute_axes(to, true); });
}

std::optional<Layout> reshape(const Layout& layout, DataType type, const Dims& dims) {
    return derived(layout, type, [&](const dnnl::memory::desc& desc) { return desc.reshape(dims, true); });
}

std::optional<Layout> submemory(const Layout& layout, DataType type, const Dims& dims, const Dims& offsets) {
    return derived(layout, type, [&](const dnnl::memory::desc& desc) { return desc.submemory_desc(dims, offsets, true); });
}

void check_rank(const Layout& layout, std::string_view name) {
    if (layout.ndim() <= DNNL_MAX_NDIMS) return;
    throw ValueError(std::string(name) + " has " + std::to_string(layout.ndim()) + " dimensions, oneDNN objects have at most " +
                     std::to_string(DNNL_MAX_NDIMS));
}

bool can_describe(const Layout& layout, DataType type) {
    if (lower(type) == dnnl::memory::data_type::undef) return false;
    if (layout.ndim() < 1 || layout.ndim() > DNNL_MAX_NDIMS) return false;
    if (layout.blocked()) return has_tag(layout.tag);
    for (std::size_t axis = 0; axis < layout.ndim(); ++axis) {
        if (layout.dims[axis] > 1 && !layout.empty() &&
            (layout.strides[axis] <= 0 || layout.strides[axis] % layout.itemsize != 0)) {
            return false;
        }
    }
    return true;
}

std::int64_t size_of(const Layout& layout, DataType type) {
    return guarded("size_of", [&] { return static_cast<std::int64_t>(lower(layout, type).get_size()); });
}

int threads_for(std::int64_t bytes) {
    constexpr std::int64_t kBytesPerThread = 256 * 1024;
    return static_cast<int>(std::clamp<std::int64_t>(bytes / kBytesPerThread, 1, get_num_threads()));
}

struct Shuffle::Impl {
    dnnl::engine engine;
    PropKind prop;
    dnnl::memory::desc data;
    dnnl::memory::desc scratchpad;
    std::string info;
    int position;  // in oneDNN's list of implementations
    std::size_t axis;
    int group_size;
    // Made by the first call; of two that were made at once one is dropped, so that nobody waits, in a child neither.
    mutable std::atomic<const dnnl::primitive*> primitive = nullptr;

    ~Impl() { delete primitive.load(); }
};

namespace {

// What make() makes, or an empty one where oneDNN has none. (Its own allow_empty takes out of memory for that, too.)
template <typename Make>
auto made_or_empty(Make make) {
    try {
        return make();
    } catch (const dnnl::error& error) {
        if (error.status == dnnl_out_of_memory) throw;
        return decltype(make()){};
    }
}

dnnl::shuffle_forward::primitive_desc forward_pd(const dnnl::engine& cpu, PropKind prop, const dnnl::memory::desc& data,
                                                 int axis, int group_size) {
    const auto kind = prop == PropKind::forward_inference ? dnnl::prop_kind::forward_inference
                                                          : dnnl::prop_kind::forward_training;
    return made_or_empty(
        [&] { return dnnl::shuffle_forward::primitive_desc(cpu, kind, data, data, axis, group_size, user_scratchpad()); });
}

// Calls visit(pd) with oneDNN's descriptor of the problem, empty where it has none.
template <typename Visit>
void with_pd(const dnnl::engine& cpu, PropKind prop, const dnnl::memory::desc& data, int axis, int group_size, Visit visit) {
    auto forward = forward_pd(cpu, prop, data, axis, group_size);
    if (prop != PropKind::backward_data) {
        visit(forward);
    } else if (forward) {
        auto backward = made_or_empty([&] {
            return dnnl::shuffle_backward::primitive_desc(cpu, data, data, axis, group_size, forward, user_scratchpad());
        });
        visit(backward);
    }
}

dnnl::primitive make_shuffle(const dnnl::shuffle_forward::primitive_desc& pd) { return dnnl::shuffle_forward(pd); }
dnnl::primitive make_shuffle(const dnnl::shuffle_backward::primitive_desc& pd) { return dnnl::shuffle_backward(pd); }

}  // namespace

void Shuffle::prepare(int threads) const {
    if (impl_->primitive.load(std::memory_order_acquire) != nullptr) return;
    creating("shuffle", [&] {
        // oneDNN fills its offset tables in a parallel region of its own.
        const ScopedOpenMPThreads scoped(threads);
        with_pd(impl_->engine, impl_->prop, impl_->data, static_cast<int>(impl_->axis), impl_->group_size, [&](auto& pd) {
            for (int k = 0; k < impl_->position; ++k) pd.next_impl();
            auto made = std::make_unique<const dnnl::primitive>(make_shuffle(pd));
            const dnnl::primitive* before = nullptr;
            if (impl_->primitive.compare_exchange_strong(before, made.get(), std::memory_order_acq_rel))
                static_cast<void>(made.release());
        });
    });
}

const std::string& Shuffle::info() const { return impl_->info; }

std::int64_t Shuffle::scratchpad_bytes() const { return static_cast<std::int64_t>(impl_->scratchpad.get_size()); }

void Shuffle::run(const Stream* stream, const std::byte* data, std::byte* result, int threads) const {
    prepare(threads);
    guarded("shuffle", [&] {
        const bool backward = impl_->prop == PropKind::backward_data;
        std::unordered_map<int, dnnl::memory> args;
        args.emplace(backward ? DNNL_ARG_DIFF_DST : DNNL_ARG_SRC, dnnl::memory(impl_->data, impl_->engine, writable(data)));
        args.emplace(backward ? DNNL_ARG_DIFF_SRC : DNNL_ARG_DST, dnnl::memory(impl_->data, impl_->engine, result));
        execute(*impl_->primitive.load(std::memory_order_acquire), impl_->engine, stream, impl_->scratchpad, std::move(args),
                threads);
    });
}

std::vector<Shuffle> shuffles(const Engine& engine, PropKind prop, const Layout& layout, DataType type, std::size_t axis,
                              std::int64_t group_size) {
    std::vector<Shuffle> found;
    if (layout.dims[axis] > std::numeric_limits<int>::max()) return found;
    const int group = static_cast<int>(group_size);
    const dnnl::engine& cpu = engine.impl().engine;
    creating("shuffle", [&] {
        const dnnl::memory::desc data = lower(layout, type);
        with_pd(cpu, prop, data, static_cast<int>(axis), group, [&](auto& pd) {
            for (int position = 0; pd; ++position) {
                std::shared_ptr<const Shuffle::Impl> impl(
                    new Shuffle::Impl{cpu, prop, data, pd.scratchpad_desc(), pd.impl_info_str(), position, axis, group});
                found.emplace_back(std::move(impl));
                if (!pd.next_impl()) break;
            }
        });
    });
    return found;
}

struct Reorder::Impl {
    dnnl::engine engine;
    dnnl::memory::desc src;
    dnnl::memory::desc dst;
    dnnl::memory::desc scratchpad;
    std::string info;
    std::optional<int> scales_mask;
    // As Shuffle's.
    mutable std::atomic<const dnnl::primitive*> primitive = nullptr;

    ~Impl() { delete primitive.load(); }
};

namespace {

dnnl::reorder::primitive_desc reorder_pd(const dnnl::engine& cpu, const dnnl::memory::desc& src, const dnnl::memory::desc& dst,
                                         std::optional<int> scales_mask) {
    dnnl::primitive_attr attr = user_scratchpad();
    if (scales_mask) attr.set_scales_mask(DNNL_ARG_SRC, *scales_mask);
    return made_or_empty([&] { return dnnl::reorder::primitive_desc(cpu, src, cpu, dst, attr); });
}

}  // namespace

void Reorder::prepare(int threads) const {
    if (impl_->primitive.load(std::memory_order_acquire) != nullptr) return;
    creating("reorder", [&] {
        const ScopedOpenMPThreads scoped(threads);
        auto made = std::make_unique<const dnnl::primitive>(
            dnnl::reorder(reorder_pd(impl_->engine, impl_->src, impl_->dst, impl_->scales_mask)));
        const dnnl::primitive* before = nullptr;
        if (impl_->primitive.compare_exchange_strong(before, made.get(), std::memory_order_acq_rel))
            static_cast<void>(made.release());
    });
}

const std::string& Reorder::info() const { return impl_->info; }

std::int64_t Reorder::scratchpad_bytes() const { return static_cast<std::int64_t>(impl_->scratchpad.get_size()); }

void Reorder::run(const Stream* stream, const std::byte* src, std::byte* dst, const std::vector<float>& scales,
                  int threads) const {
    prepare(threads);
    guarded("reorder", [&] {
        std::unordered_map<int, dnnl::memory> args;
        args.emplace(DNNL_ARG_SRC, dnnl::memory(impl_->src, impl_->engine, writable(src)));
        args.emplace(DNNL_ARG_DST, dnnl::memory(impl_->dst, impl_->engine, dst));
        if (impl_->scales_mask) {
            const dnnl::memory::desc list({static_cast<dnnl::memory::dim>(scales.size())}, dnnl::memory::data_type::f32,
                                          dnnl::memory::format_tag::a);
            args.emplace(DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC,
                         dnnl::memory(list, impl_->engine, const_cast<float*>(scales.data())));
        }
        execute(*impl_->primitive.load(std::memory_order_acquire), impl_->engine, stream, impl_->scratchpad, std::move(args),
                threads);
    });
}

std::vector<Reorder> reorders(const Engine& engine, const Layout& src, DataType src_type, const Layout& dst, DataType dst_type,
                              std::optional<int> scales_mask) {
    std::vector<Reorder> found;
    const dnnl::engine& cpu = engine.impl().engine;
    creating("reorder", [&] {
        const dnnl::memory::desc from = lower(src, src_type);
        const dnnl::memory::desc to = lower(dst, dst_type);
        // (oneDNN lists no second implementation of a reorder.)
        if (const auto pd = reorder_pd(cpu, from, to, scales_mask)) {
            std::shared_ptr<const Reorder::Impl> impl(
                new Reorder::Impl{cpu, from, to, pd.scratchpad_desc(), pd.impl_info_str(), scales_mask});
            found.emplace_back(std::move(impl));
        }
    });
    return found;
}

}  // namespace dnnmove::onednn
