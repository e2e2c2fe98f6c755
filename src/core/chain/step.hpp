// The steps of a chain: each operation once as a check of shapes, once as a change of a mosaic.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "view/mosaic.hpp"
#include "ops/ops.hpp"
#include "plan/sink.hpp"
#include "array/dims.hpp"

namespace dnnmove::chain {

using view::kMaxPieces;
using view::Mosaic;
using view::Source;

// The most arrays that a chain may end in.
inline constexpr std::int64_t kMaxBranches = std::int64_t{1} << 20;

// Consecutive branches, [begin, end).
struct Branches {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool contains(std::size_t branch) const { return begin <= branch && branch < end; }
};

// The entries of a basic index. Of a slice: start and stop as in Python, absent where None.
struct Ellipsis {};
struct NewAxis {};
struct Slice {
    std::optional<std::int64_t> start, stop;
    std::int64_t step = 1;
};
using IndexEntry = std::variant<std::int64_t, Slice, NewAxis, Ellipsis>;

// None, one number or several, as the caller gave it.
using Floats = std::vector<float>;
using Factor = std::variant<std::monostate, float, Floats>;

// One element: as the caller's language spells it, and its bytes.
struct Element {
    std::string text;
    Constant bytes;
};

// An argument as the caller gave it: None, an integer, a number, a tuple of either, a str, an index, a tuple of tuples
// or an element.
using Value = std::variant<std::monostate, std::int64_t, Dims, std::string, std::vector<IndexEntry>, float, Floats,
                           std::vector<Dims>, Element>;
struct Argument {
    std::string name;  // empty: it is given by position
    Value value;
};
// As Python spells it: "(58, 58)", "'numpy'", "np.s_[:, ::-1]".
std::string to_string(const Value& value);

// Where the leading axis of a chain's source is in an array further on. A step of that axis passes
// `outer` positions of other axes, merged with it and slower than it: (n, 3), n the leading axis, behind a new axis of 2 and
// flattened is (2 * n, 3), whose axis 0 has outer = 2.
struct Leading {
    std::size_t axis = 0;
    std::int64_t outer = 1;
    std::int64_t extent = 1;  // of the source
};

// What becomes of numbers at the end of a chain: y = x * scale + shift.
struct Conversion {
    Number from;
    Number to;
    Factor scale;
    Factor shift;
    std::optional<std::int64_t> axis;  // along which several of them lie
};

// One step with the caller's parameters. Immutable, shared between chains.
class Step {
public:
    virtual ~Step() = default;
    // "variadic_split"
    virtual std::string name() const = 0;
    // By the names of the method's parameters: what explain() shows, pickles and gradients call it with, keys of eager calls
    // hold, and by which two steps are the same.
    virtual std::vector<Argument> arguments() const = 0;
    // "variadic_split(axis=1, split_lengths=(58, 58))"
    std::string text() const;
    // True where the step makes several arrays of one (even when it makes exactly one).
    virtual bool splits() const { return false; }
    // The branches, of `count`, that the steps after it apply to; nothing where it does not say.
    virtual std::optional<Branches> turns(std::size_t /*count*/) const { return std::nullopt; }
    // Whether it keeps the elements in their order, whatever the array: of several such steps the last one's shape tells.
    virtual bool reshapes() const { return false; }
    // What it does to elements, wherever they are, on their way out; null where it moves them only. A conversion is the
    // last step.
    virtual const std::vector<Words>* swaps() const { return nullptr; }
    virtual const Conversion* converts() const { return nullptr; }
    // The shapes it makes of `shape`; throws what the eager function throws.
    virtual std::vector<Dims> check(const Dims& shape) const = 0;
    // What it makes of `data`, whose shape passed check(); one mosaic per shape, in order.
    virtual std::vector<Mosaic> apply(const Mosaic& data) const = 0;
    // Where the leading axis is in each result, whatever its extent; nothing where the step fixes the
    // extent. `shape` passed check().
    virtual std::optional<Leading> follow(const Leading& leading, const Dims& shape) const = 0;
};

// A step that makes one array of several sources: the first of a chain that has several, and of no other.
class Join : public Step {
public:
    // The shape that it makes of the sources; throws what is wrong with them, where errors call them `arrays`.
    virtual Dims shape(const std::vector<Source>& sources) const = 0;
    // Of sources that passed shape(); ValueError where they span too many bytes.
    virtual Mosaic join(const std::vector<Source>& sources, std::int64_t itemsize) const = 0;
    // Where the leading axis of the sources is, all of which have its extent; nothing where their extents differ and
    // the step needs each.
    virtual std::optional<Leading> follow_sources(const std::vector<Source>& sources) const = 0;

    std::vector<Dims> check(const Dims& shape) const final;
    std::vector<Mosaic> apply(const Mosaic& data) const final { return {data}; }
    std::optional<Leading> follow(const Leading&, const Dims&) const final { return std::nullopt; }
};

using StepPtr = std::shared_ptr<const Step>;

StepPtr stack(std::int64_t axis);
StepPtr concat(std::int64_t axis);

StepPtr shuffle(std::int64_t axis, std::int64_t group_size);
StepPtr shuffle_channels(std::int64_t axis, std::int64_t group);
StepPtr transpose(Dims input_order);
StepPtr variadic_split(std::int64_t axis, Dims split_lengths);
StepPtr split(std::int64_t axis, std::int64_t num_splits);
StepPtr broadcast(Dims target_shape, std::optional<Dims> axes_mapping, std::string mode);
// At most one length of -1 takes what is left.
StepPtr reshape(Dims shape);
// Changes no array: turns to one branch, counted from the end where negative, or to all of them.
StepPtr branch(std::optional<std::int64_t> position);

StepPtr index(std::vector<IndexEntry> entries);

// Turns the byte order of these words of every element.
StepPtr byteswap(std::vector<Words> words);
// `dtype`: the name of conversion.to, as the caller's library has it.
StepPtr convert(Conversion conversion, std::string dtype);

// None, one axis (or count) or several, as the caller gave it.
using Axes = std::variant<std::monostate, std::int64_t, Dims>;

// NumPy's. No axes: those of length 1, all of them, the flattened array.
StepPtr squeeze(Axes axis);
StepPtr expand_dims(Axes axis);
StepPtr moveaxis(Axes source, Axes destination);
StepPtr swapaxes(std::int64_t axis1, std::int64_t axis2);
StepPtr flip(Axes axis);
StepPtr roll(Axes shift, Axes axis);
StepPtr tile(Axes reps);
StepPtr repeat_elements(Axes repeats, std::int64_t axis);
StepPtr take(Dims indices, std::int64_t axis);
// The widths before and after: one number, a pair, or pairs, one for all axes or one for each. `value` is an element
// of the data, for mode "constant".
using Widths = std::variant<std::int64_t, Dims, std::vector<Dims>>;
StepPtr pad(Widths widths, std::string mode, Element value);
// Torch's.
StepPtr flatten(std::int64_t start, std::int64_t end);
StepPtr unflatten(std::int64_t axis, Dims sizes);
StepPtr unfold(std::int64_t axis, std::int64_t size, std::int64_t step);
StepPtr pixel_shuffle(std::int64_t factor);
StepPtr pixel_unshuffle(std::int64_t factor);
// ONNX's.
StepPtr space_to_depth(std::int64_t block_size);
StepPtr depth_to_space(std::int64_t block_size, std::string mode);
// Einops'.
using Length = std::pair<std::string, std::int64_t>;
StepPtr rearrange(std::string pattern, std::vector<Length> lengths);
StepPtr repeat(std::string pattern, std::vector<Length> lengths);

}  // namespace dnnmove::chain
