// How the results of a chain leave it: the sink of each, and the copies that go through it.
#include "chain/finish.hpp"

#include <algorithm>

#include "ops/common.hpp"

namespace dnnmove::chain {
namespace {

// As many as `count`, of a factor that is one number, several or none.
std::vector<float> spread(const Factor& factor, std::size_t count, float none) {
    if (const auto* several = std::get_if<Floats>(&factor)) return *several;
    const auto* one = std::get_if<float>(&factor);
    return std::vector<float>(count, one == nullptr ? none : *one);
}

// One box, in which no axis is a table.
bool is_strided_box(const Mosaic& mosaic) {
    if (mosaic.pieces().size() != 1) return false;
    const auto lists = [](const view::Positions& axis) {
        return std::any_of(axis.terms.begin(), axis.terms.end(),
                           [](const view::Term& term) { return term.listing != nullptr; });
    };
    const auto& axes = mosaic.pieces().front().axes;
    return std::none_of(axes.begin(), axes.end(), lists);
}

std::size_t count_of(const Factor& factor) {
    const auto* several = std::get_if<Floats>(&factor);
    return several == nullptr ? 1 : several->size();
}

}  // namespace

Finish finish_of(const std::vector<Words>* swapped, const Conversion* conversion, std::size_t ndim, std::int64_t itemsize) {
    const auto has = [](const Factor& factor) { return !std::holds_alternative<std::monostate>(factor); };
    const bool scales = conversion != nullptr && (has(conversion->scale) || has(conversion->shift));
    const bool converts = conversion != nullptr && (scales || conversion->from != conversion->to);
    const bool swaps = swapped != nullptr && !swapped->empty();
    if (!converts && !swaps) return {};
    Sink sink;
    sink.src_bytes = sink.dst_bytes = itemsize;
    if (swaps) sink.swapped = *swapped;
    if (!converts) return {std::make_shared<const Sink>(std::move(sink)), std::nullopt};
    sink.conversion = Sink::Conversion{conversion->from, conversion->to};
    sink.dst_bytes = static_cast<std::int64_t>(bytes_of(conversion->to));
    if (!scales) return {std::make_shared<const Sink>(std::move(sink)), std::nullopt};
    // A product with 1 and a sum with -0 change no number.
    const std::size_t count = count_of(conversion->scale) == 1 ? count_of(conversion->shift) : count_of(conversion->scale);
    sink.scale = spread(conversion->scale, count, 1.0f);
    sink.shift = spread(conversion->shift, count, -0.0f);
    // One number along an axis of length 1 lies among more of them in no result.
    if (sink.scale.size() != count) sink.scale.assign(count, sink.scale.front());
    if (sink.shift.size() != count) sink.shift.assign(count, sink.shift.front());
    std::optional<std::size_t> axis;
    if (count > 1) axis = ops::normalize_axis(*conversion->axis, ndim);
    return {std::make_shared<const Sink>(std::move(sink)), axis};
}

std::vector<Transfer> transfers_of(const Mosaic& mosaic, const Dims& strides, const Finish& finish, int src, int dst) {
    std::vector<Transfer> transfers;
    if (!finish.sink) {
        // Loops of one box that continue each other are one to the planner, whether or not they are of one axis.
        const bool across = strides.empty() && !is_strided_box(mosaic);
        const auto nests = [&] {
            return mosaic.nests(strides.empty() ? dense_strides(mosaic.shape(), mosaic.itemsize()) : strides);
        };
        for (Nest& nest : across ? mosaic.dense_nests() : nests()) {
            transfers.push_back(Transfer{src, dst, std::move(nest)});
        }
        return mosaic.apart(std::move(transfers));
    }
    const std::size_t ndim = mosaic.shape().size();
    for (Nest& nest : mosaic.nests(strides.empty() ? dense_strides(mosaic.shape(), finish.sink->dst_bytes) : strides)) {
        transfers.push_back(Transfer{src, dst, std::move(nest), {}, nullptr, finish.sink});
    }
    if (!finish.axis) return mosaic.apart(std::move(transfers));
    Dims places(ndim, 0);
    places[*finish.axis] = 1;
    const std::vector<Nest> parameters = mosaic.nests(places);
    for (std::size_t k = 0; k < transfers.size(); ++k) transfers[k].parameters = std::make_shared<const Nest>(parameters[k]);
    return mosaic.apart(std::move(transfers));
}

}  // namespace dnnmove::chain
