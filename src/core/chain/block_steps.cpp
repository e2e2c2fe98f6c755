// The steps that move blocks of pixels to channels and back: ONNX's and torch's.
#include "chain/step_parts.hpp"
#include "ops/common.hpp"

namespace dnnmove::chain {
namespace {

using ops::named;

std::int64_t positive(std::int64_t value, std::string_view argument) {
    if (value < 1) throw ValueError(named(argument, value) + " must be at least 1");
    return value;
}

void check_divides(std::int64_t block, const std::string& text, std::size_t axis, const Dims& shape) {
    if (shape[axis] % block != 0) throw ValueError(text + " must divide " + named(ops::kDataShape, axis, shape[axis]));
}

// block * block, or an error where it does not fit into 63 bits; no axis is that long.
std::int64_t square(std::int64_t block, const std::string& text, std::size_t axis, const Dims& shape) {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(block, block, &result) || shape[axis] % result != 0) {
        throw ValueError(text + " squared must divide " + named(ops::kDataShape, axis, shape[axis]));
    }
    return result;
}

// The last three axes are channels, height and width: (.., C, H, W).
// To depth: H and W are seen as (H/b, b) and (W/b, b), and both b move before or behind the channels.
// To space: the channels are seen as (b, b, C/b/b) or (C/b/b, b, b), and each b moves behind H and W.
class BlockStep : public ComposedStep {
public:
    enum class Kind { space_to_depth, depth_to_space, pixel_shuffle, pixel_unshuffle };

    BlockStep(Kind kind, std::int64_t block, std::string mode) : kind_(kind), block_(block), mode_(std::move(mode)) {
        positive(block_, argument());
        if (kind_ == Kind::depth_to_space && mode_ != "DCR" && mode_ != "CRD") {
            throw ValueError("mode (" + to_string(Value(mode_)) + ") must be 'DCR' or 'CRD'");
        }
    }

    std::string name() const override {
        switch (kind_) {
            case Kind::space_to_depth: return "space_to_depth";
            case Kind::depth_to_space: return "depth_to_space";
            case Kind::pixel_shuffle: return "pixel_shuffle";
            case Kind::pixel_unshuffle: return "pixel_unshuffle";
        }
        return "";
    }
    std::vector<Argument> arguments() const override {
        std::vector<Argument> all{{std::string(argument()), block_}};
        if (kind_ == Kind::depth_to_space) all.push_back({"mode", mode_});
        return all;
    }

private:
    std::string_view argument() const {
        return kind_ == Kind::space_to_depth || kind_ == Kind::depth_to_space ? "block_size" : "factor";
    }

    std::vector<StepPtr> parts(const Dims& shape) const override {
        const bool onnx = argument() == "block_size";
        if (onnx ? shape.size() != 4 : shape.size() < 3) {
            throw ValueError("data.shape " + dnnmove::to_string(shape) + " must have " +
                             (onnx ? "4 dimensions (N, C, H, W)" : "at least 3 dimensions (..., C, H, W)"));
        }
        const std::size_t channels = shape.size() - 3;
        return kind_ == Kind::space_to_depth || kind_ == Kind::pixel_unshuffle ? to_depth(shape, channels)
                                                                               : to_space(shape, channels);
    }

    std::vector<StepPtr> to_depth(const Dims& shape, std::size_t channels) const {
        for (const std::size_t axis : {channels + 1, channels + 2}) {
            check_divides(block_, named(argument(), block_), axis, shape);
        }
        const auto c = static_cast<std::int64_t>(channels);
        Dims order = before(channels);  // then C H b W b
        for (const std::int64_t axis : kind_ == Kind::space_to_depth ? Dims{2, 4, 0, 1, 3} : Dims{0, 2, 4, 1, 3}) {
            order.push_back(c + axis);
        }
        return {unflatten(c + 2, {shape[channels + 2] / block_, block_}),
                unflatten(c + 1, {shape[channels + 1] / block_, block_}), transpose(std::move(order)), flatten(c, c + 2)};
    }

    std::vector<StepPtr> to_space(const Dims& shape, std::size_t channels) const {
        const std::int64_t left = shape[channels] / square(block_, named(argument(), block_), channels, shape);
        const auto c = static_cast<std::int64_t>(channels);
        const bool blocks_first = kind_ == Kind::depth_to_space && mode_ == "DCR";
        Dims order = before(channels);  // then b b C H W, or C b b H W
        for (const std::int64_t axis : blocks_first ? Dims{2, 3, 0, 4, 1} : Dims{0, 3, 1, 4, 2}) order.push_back(c + axis);
        return {unflatten(c, blocks_first ? Dims{block_, block_, left} : Dims{left, block_, block_}),
                transpose(std::move(order)), flatten(c + 3, c + 4), flatten(c + 1, c + 2)};
    }

    // The axes before the channels stay where they are.
    static Dims before(std::size_t channels) {
        Dims axes(channels);
        for (std::size_t axis = 0; axis < channels; ++axis) axes[axis] = static_cast<std::int64_t>(axis);
        return axes;
    }

    Kind kind_;
    std::int64_t block_;
    std::string mode_;
};

StepPtr block_step(BlockStep::Kind kind, std::int64_t block, std::string mode = "") {
    return std::make_shared<BlockStep>(kind, block, std::move(mode));
}

}  // namespace

StepPtr space_to_depth(std::int64_t block_size) { return block_step(BlockStep::Kind::space_to_depth, block_size); }
StepPtr depth_to_space(std::int64_t block_size, std::string mode) {
    return block_step(BlockStep::Kind::depth_to_space, block_size, std::move(mode));
}
StepPtr pixel_shuffle(std::int64_t factor) { return block_step(BlockStep::Kind::pixel_shuffle, factor); }
StepPtr pixel_unshuffle(std::int64_t factor) { return block_step(BlockStep::Kind::pixel_unshuffle, factor); }

}  // namespace dnnmove::chain
