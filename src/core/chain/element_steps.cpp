// The steps that change elements and not where they are: byte order and numbers.
#include "chain/step_parts.hpp"
#include "ops/common.hpp"
#include "runtime/error.hpp"

namespace dnnmove::chain {
namespace {

class ElementStep : public Step {
public:
    std::vector<Dims> check(const Dims& shape) const override { return {shape}; }
    std::vector<Mosaic> apply(const Mosaic& data) const override { return {data}; }
    std::optional<Leading> follow(const Leading& leading, const Dims&) const override { return leading; }
};

class ByteSwapStep : public ElementStep {
public:
    explicit ByteSwapStep(std::vector<Words> words) : words_(std::move(words)) {}

    std::string name() const override { return "byteswap"; }
    std::vector<Argument> arguments() const override { return {}; }
    const std::vector<Words>* swaps() const override { return &words_; }

private:
    std::vector<Words> words_;
};

Value value_of(const Factor& factor) {
    return std::visit([](const auto& each) { return Value(each); }, factor);
}

class ConvertStep : public ElementStep {
public:
    ConvertStep(Conversion conversion, std::string dtype) : conversion_(std::move(conversion)), dtype_(std::move(dtype)) {
        for (const auto& [name, factor] : factors()) {
            if (std::holds_alternative<Floats>(*factor) && !conversion_.axis) {
                throw ValueError(std::string(name) + " has " + counted(std::get<Floats>(*factor).size()) +
                                 ", one for each position along an axis: axis must say which, and is None");
            }
        }
    }

    std::string name() const override { return "convert"; }
    std::vector<Argument> arguments() const override {
        std::vector<Argument> all{{"dtype", dtype_}};
        for (const auto& [name, factor] : factors()) {
            if (!std::holds_alternative<std::monostate>(*factor)) all.push_back({name, value_of(*factor)});
        }
        if (conversion_.axis) all.push_back({"axis", *conversion_.axis});
        return all;
    }
    const Conversion* converts() const override { return &conversion_; }
    std::vector<Dims> check(const Dims& shape) const override {
        if (!conversion_.axis) return {shape};
        const std::size_t axis = ops::normalize_axis(*conversion_.axis, shape.size());
        for (const auto& [name, factor] : factors()) {
            const auto* const floats = std::get_if<Floats>(factor);
            if (floats == nullptr || static_cast<std::int64_t>(floats->size()) == shape[axis]) continue;
            throw ValueError(std::string(name) + " has " + counted(floats->size()) + ", but must have as many as " +
                             ops::named(ops::kDataShape, axis, shape[axis]));
        }
        return {shape};
    }
    // Several numbers fix the length of their axis.
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        const bool several = std::holds_alternative<Floats>(conversion_.scale) ||
                             std::holds_alternative<Floats>(conversion_.shift);
        return several ? elsewhere(*conversion_.axis, leading, shape) : std::optional(leading);
    }

private:
    std::vector<std::pair<const char*, const Factor*>> factors() const {
        return {{"scale", &conversion_.scale}, {"shift", &conversion_.shift}};
    }
    static std::string counted(std::size_t count) { return std::to_string(count) + (count == 1 ? " number" : " numbers"); }

    Conversion conversion_;
    std::string dtype_;
};

}  // namespace

StepPtr byteswap(std::vector<Words> words) { return std::make_shared<ByteSwapStep>(std::move(words)); }
StepPtr convert(Conversion conversion, std::string dtype) {
    return std::make_shared<ConvertStep>(std::move(conversion), std::move(dtype));
}

}  // namespace dnnmove::chain
