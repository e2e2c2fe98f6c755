// Folding a chain: composes steps until a mosaic grows too many pieces, and chooses then which arrays to write.
//
// The steps form a tree (a split has several children). For each array that may be written to memory
// and read again, a search over the nodes below finds the cheapest set of further ones; results are
// kept per node, so the work is at most nodes x depth compositions. It ends earlier where no better set
// is possible, and after a bounded number of boxes (Work) with the best found until then: a walk that has made too many
// ends at the last array of few of them, which becomes an intermediate. A chain that folds whole, nearly every one, costs
// a single walk.
#include "chain/fold.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "view/work.hpp"
#include "runtime/abbreviated.hpp"
#include "runtime/error.hpp"

namespace dnnmove::chain {
namespace {

// Branch `branch` after `step` steps.
struct Node {
    std::size_t step;
    std::size_t branch;
    auto operator<=>(const Node&) const = default;
};

// Less is better: arrays written in too many nests (some steps need that many from any array), then bytes of
// intermediates, then nests.
struct Cost {
    std::size_t excess = 0;
    std::int64_t bytes = 0;
    std::size_t nests = 0;
    auto operator<=>(const Cost&) const = default;
};
constexpr std::int64_t kLine = 64;                 // bytes
constexpr std::size_t kFewNests = 16;              // are never fragmented
constexpr std::int64_t kCachedBytes = 1024 * 1024;  // below this lines stay in the cache between nests
constexpr std::int64_t kMostTouches = 4;           // of a line of the array by all nests

// A search goes on where fewer nests or fewer bytes may be found, until so many boxes are made.
constexpr std::size_t kMostForNests = 500;
constexpr std::size_t kMostForBytes = 1800;
constexpr std::size_t kBoxesOfStep = 8;  // that a step may make of one box, on the way

constexpr std::size_t kMostKept = 12288;  // pieces, of which what they make is kept for the walk after the search

constexpr Cost kImpossible{std::numeric_limits<std::size_t>::max(), 0, 0};

Cost sum(const Cost& a, const Cost& b) {
    Cost total;
    total.excess = a.excess + b.excess;
    if (__builtin_add_overflow(a.bytes, b.bytes, &total.bytes)) return kImpossible;
    total.nests = a.nests + b.nests;
    return a == kImpossible || b == kImpossible ? kImpossible : total;
}

// Cache lines that one side of a nest touches; `stride` says which side.
std::int64_t lines(const Nest& nest, std::int64_t Loop::* stride) {
    std::vector<std::pair<std::int64_t, std::int64_t>> loops;  // stride, extent
    std::int64_t count = 1;
    for (const Loop& loop : nest.loops) {
        if (loop.table) count *= loop.extent;
        if (loop.*stride != 0) loops.emplace_back(std::abs(loop.*stride), loop.extent);
    }
    std::sort(loops.begin(), loops.end());
    std::int64_t span = nest.itemsize;  // bytes that lie close together
    for (const auto& [step, extent] : loops) {
        if (step < kLine || step <= span) {
            span += (extent - 1) * step;
        } else {
            count *= extent;
        }
    }
    return count * ((span + kLine - 1) / kLine);
}

// Many nests that take a few bytes of every cache line each cross memory more often than two passes do.
bool is_fragmented(const std::vector<Nest>& nests, std::int64_t bytes) {
    if (bytes < kCachedBytes) return false;
    std::int64_t touched = 0;
    for (const Nest& nest : nests) touched += lines(nest, &Loop::src_stride) + lines(nest, &Loop::dst_stride);
    return touched > kMostTouches * 2 * (bytes / kLine);
}

constexpr std::size_t kNotes = 12;  // per step, so that a thousand branches stay readable

// "1 strided copy", "3 strided copies"
std::string counted(std::size_t count, const std::string& stem) {
    return std::to_string(count) + " " + stem + (count == 1 ? "y" : "ies");
}

class Folder {
public:
    Folder(const Chain& chain, std::size_t max_nests, bool traced) : chain_(chain), max_nests_(max_nests), traced_(traced) {}

    Folded run() {
        view::Work& work = view::Work::of_thread();
        work.done = 0;
        const Mosaic source = chain_.start();
        folded_.sources = static_cast<int>(chain_.sources().size());
        given_ = source.pieces().size() - (source.pieces().empty() ? 0 : 1);
        // Thousands of branches, or of sources that do not lie alike, are as many boxes in any case.
        std::size_t needed = 0;
        for (const auto& level : chain_.levels()) needed += kBoxesOfStep * (level->shapes.size() + given_);
        if (needed > most_) most_ = least_walk_ = needed;
        for (const auto& level : chain_.levels()) made_.emplace_back(level->shapes.size());
        walk_end_ = most_;
        const Cost cost = search(kSource, Node{0, 0}, source, false);
        if (cost.excess > 0) {
            // Some step alone takes more nests than an array may.
            bears_excess_ = true;
            costs_.clear();
            written_.clear();
            walk_end_ = work.done + least_walk_;
            search(kSource, Node{0, 0}, source, false);
        }
        folded_.composed = work.done;
        for (std::size_t step = 0; traced_ && step <= chain_.steps().size(); ++step)
            folded_.steps.push_back({heading(step), chain_.levels()[step]->shapes.size(), {}, false});
        std::vector<Mosaic> path;
        emit(kSource, Node{0, 0}, source, 0, 0, path);
        return std::move(folded_);
    }

private:
    // Where a composition starts: the chain's source, or an intermediate at a node.
    using Base = std::optional<Node>;
    static constexpr Base kSource = std::nullopt;

    bool last(const Node& node) const { return node.step == chain_.steps().size(); }

    Node child(const Node& node, std::size_t i) const {
        return Node{node.step + 1, chain_.levels()[node.step + 1]->begins[node.branch] + i};
    }

    // The node of the same array after the steps that pass it by.
    Node passed_by(Node node) const {
        while (!last(node) && !chain_.levels()[node.step + 1]->taken.contains(node.branch)) node = child(node, 0);
        return node;
    }

    // Whether the last step made the node's array, rather than passed it by.
    bool arrived(const Node& node) const {
        if (node.step == 0) return true;
        const Level& level = *chain_.levels()[node.step];
        return level.begins[level.taken.begin] <= node.branch && node.branch < level.begins[level.taken.end];
    }

    // The cost of writing `mosaic`, but for its bytes.
    Cost cost_of(const Base& base, const Mosaic& mosaic, bool output) const {
        Cost cost{0, 0, mosaic.pieces().size()};
        if (cost.nests <= 1) return cost;
        // Sources that do not lie alike are nests that no pass spares.
        const std::size_t given = base == kSource ? given_ : 0;
        // A row-major array may take fewer than it has pieces; never more.
        if (cost.nests <= max_nests_ + given && (cost.nests <= kFewNests + given || mosaic.bytes() < kCachedBytes)) return cost;
        if (!output && cost.nests > 2 * (max_nests_ + given)) {
            cost.excess = 1;
            return cost;
        }
        const std::vector<Nest> copies = mosaic.dense_nests();
        cost.nests = copies.size();
        const bool fragmented = cost.nests > kFewNests + given && is_fragmented(copies, mosaic.bytes());
        cost.excess = cost.nests > max_nests_ + given || fragmented ? 1 : 0;
        return cost;
    }

    using Next = std::optional<std::vector<Mosaic>>;

    // What a node becomes, from one base: the first that was composed from.
    struct Kept {
        bool is = false;
        Base base;
        Next next;
    };
    // Null where nothing is kept of this node from this base.
    Next* kept(const Base& base, const Node& node) {
        Kept& one = made_[node.step][node.branch];
        return one.is && one.base == base ? &one.next : nullptr;
    }
    // Unless too much is kept, or another base's.
    void keep(const Base& base, const Node& node, Next&& next) {
        Kept& one = made_[node.step][node.branch];
        if (!one.is && kept_ <= kMostKept) one = {true, base, std::move(next)};
    }

    // What `node` becomes by the next step; nothing where that is more pieces than a mosaic may have, or where this walk
    // has made more boxes than it may. From an array that is there, a step is always taken.
    Next compose(const Base& base, const Node& node, const Mosaic& mosaic) {
        const bool starts = base == node || (base == kSource && node == passed_by(Node{0, 0}));
        if (!starts && view::Work::of_thread().done > walk_end_) {
            folded_.cut_short = true;
            return std::nullopt;
        }
        try {
            const view::WorkLimit limit(starts ? std::numeric_limits<std::size_t>::max() : walk_end_);
            Next next = chain_.apply(node.step, node.branch, mosaic);
            for (const Mosaic& made : *next) kept_ += 1 + made.pieces().size();
            return next;
        } catch (const TooManyBoxes&) {
            if (!starts && view::Work::of_thread().done > walk_end_) folded_.cut_short = true;
            return std::nullopt;
        }
    }

    // The cost of all below `made`, whose array is `mosaic` over the base; `whole`: with no further intermediate.
    Cost search(const Base& base, const Node& made, const Mosaic& mosaic, bool whole) {
        const Node node = passed_by(made);
        if (last(node)) return cost_of(base, mosaic, true);
        Cost onward = kImpossible;
        const Next* const known = kept(base, node);
        Next fresh = known == nullptr ? compose(base, node, mosaic) : std::nullopt;
        const Next& next = known == nullptr ? fresh : *known;
        if (next) {
            onward = {};
            for (std::size_t i = 0; i < next->size() && onward != kImpossible; ++i) {
                onward = sum(onward, search(base, child(node, i), (*next)[i], whole));
            }
        }
        if (known == nullptr) keep(base, node, std::move(fresh));
        if (whole || base == node || (onward.excess == 0 && onward.bytes == 0)) return onward;
        // To write this array costs its bytes, whatever is gained by it, and a nest here and for each output.
        Cost here{0, mosaic.bytes(), 1};
        const Cost least{0, 0, filled_below(node)};
        if (!(sum(here, least) < onward)) return onward;
        const bool possible = onward.excess == 0 || (bears_excess_ && onward != kImpossible);
        if (possible && view::Work::of_thread().done > most_for(onward, mosaic.bytes())) {
            folded_.cut_short = true;
            return onward;
        }
        here = cost_of(base, mosaic, false);
        here.bytes = mosaic.bytes();
        if (!(sum(here, least) < onward) || (here.excess > 0 && !bears_excess_)) return onward;
        const bool last_written = onward != kImpossible && here.excess == onward.excess &&
                                  onward.bytes - here.bytes < least_below(node.step);
        const Cost written = sum(here, search_from(node, mosaic, last_written));
        if (written < onward) {
            written_.insert({base, node});
            return written;
        }
        return onward;
    }

    // The cost of all below `node` when its array is an intermediate.
    Cost search_from(const Node& node, const Mosaic& mosaic, bool whole) {
        for (const bool kind : {false, true}) {
            const auto known = costs_.find({node, kind});
            if ((whole || !kind) && known != costs_.end()) return known->second;
        }
        // Half of what is left is this walk's; the walk that it is part of goes on with what it had.
        const std::size_t before = view::Work::of_thread().done;
        const std::size_t outer = walk_end_;
        walk_end_ = before + std::max(least_walk_, before < kMostForBytes ? (kMostForBytes - before) / 2 : 0);
        const Cost cost = search(node, node, Mosaic::dense(mosaic.shape(), mosaic.itemsize()), whole);
        walk_end_ = outer + (view::Work::of_thread().done - before);
        costs_.emplace(std::pair(node, whole), cost);
        return cost;
    }

    // Boxes that may be made before a search is content with a cost of `onward`, where writing `bytes` might be better.
    std::size_t most_for(const Cost& onward, std::int64_t bytes) const {
        return onward.excess > 0 ? 2 * most_ : bytes < onward.bytes ? kMostForBytes : kMostForNests;
    }

    // Outputs below `node` that have elements.
    std::size_t filled_below(const Node& node) const {
        std::size_t begin = node.branch, end = node.branch + 1;
        for (std::size_t step = node.step + 1; step < chain_.levels().size(); ++step) {
            begin = chain_.levels()[step]->begins[begin];
            end = chain_.levels()[step]->begins[end];
        }
        std::size_t count = 0;
        for (std::size_t i = begin; i < end; ++i) count += element_count(chain_.outputs()[i]) > 0 ? 1 : 0;
        return count;
    }

    // The fewest bytes of an array after more than `step` steps, but for the outputs.
    std::int64_t least_below(std::size_t step) {
        if (least_.empty()) {
            least_.assign(chain_.levels().size(), std::numeric_limits<std::int64_t>::max());
            for (std::size_t k = least_.size() - 1; k-- > 0;) {
                least_[k] = least_[k + 1];
                if (k + 2 == least_.size()) continue;
                for (const Dims& shape : chain_.levels()[k + 1]->shapes)
                    least_[k] = std::min(least_[k], element_count(shape) * chain_.itemsize());
            }
        }
        return least_[step];
    }

    // Repeats the walk with the intermediates chosen, and writes down what it finds. `path`: the mosaics
    // since the base, to recognise steps that undo others.
    void emit(const Base& base, const Node& made, Mosaic mosaic, int source, std::size_t pass, std::vector<Mosaic>& path) {
        const Node node = traced_ ? made : passed_by(made);
        const bool writes = !last(node) && written_.contains({base, node});
        if (!traced_) {
            // What follows is what explain() says.
        } else if (node.step == 0 && chain_.joins()) {
            note_sources();
        } else if (writes || arrived(node)) {
            note(node, mosaic, source, path);
        }
        if (last(node)) {
            folded_.passes = std::max(folded_.passes, pass + 1);
            folded_.outputs.push_back(
                Written{std::move(mosaic), source, pass, node.step, node.branch, chain_.finish(node.branch)});
            return;
        }
        if (writes) {
            if (traced_) note_written(node, mosaic, pass);
            const Mosaic again = Mosaic::dense(mosaic.shape(), mosaic.itemsize());
            folded_.intermediates.push_back(Written{std::move(mosaic), source, pass, node.step, node.branch});
            const int reader = static_cast<int>(folded_.intermediates.size());
            std::vector<Mosaic> fresh;
            return follow(Base{node}, node, again, reader, pass + 1, fresh);
        }
        follow(base, node, mosaic, source, pass, path);
    }

    void follow(const Base& base, const Node& node, const Mosaic& mosaic, int source, std::size_t pass,
                std::vector<Mosaic>& path) {
        if (traced_) path.push_back(mosaic);
        Next* const known = kept(base, node);
        std::vector<Mosaic> next = known != nullptr ? *std::move(*known) : chain_.apply(node.step, node.branch, mosaic);
        for (std::size_t i = 0; i < next.size(); ++i) emit(base, child(node, i), std::move(next[i]), source, pass, path);
        if (traced_) path.pop_back();
    }

    void note(const Node& node, const Mosaic& mosaic, int source, const std::vector<Mosaic>& path) {
        Note made;
        made.first = made.last = node.branch;
        made.shape = mosaic.shape();
        made.lies = mosaic.describe();
        made.blocks = mosaic.pieces().size();
        made.source = source;
        if (made.blocks == 1) {
            made.offset = mosaic.place(mosaic.pieces().front().offset).offset;
            for (const view::Positions& axis : mosaic.pieces().front().axes) {
                auto& runs = made.axes.emplace_back();
                for (const view::Term& term : axis.terms) {
                    const auto [sources, stride] = mosaic.place(term.stride);
                    runs.push_back({term.extent, term.listing ? std::nullopt : std::optional(stride), sources});
                }
            }
        }
        const std::size_t input = chain_.joins() ? 1 : 0;  // of several sources it is no array that could come again
        for (std::size_t back = 2; back + input <= path.size() && node.step > 0; ++back) {
            if (path[path.size() - back] != mosaic) continue;
            const std::size_t since = node.step - back;
            made.remark = since == 0 ? "the input again" : "as after step " + std::to_string(since) + " again";
            break;
        }
        const Step* const step = node.step == 0 ? nullptr : chain_.steps()[node.step - 1].get();
        if (step != nullptr && (step->converts() != nullptr || step->swaps() != nullptr)) {
            made.remark = step->converts() != nullptr ? "numbers are converted on their way out"
                                                      : "bytes are swapped on their way out";
        } else if (node.step > input && !path.empty() && path.back() == mosaic) {
            made.remark += std::string(made.remark.empty() ? "" : ", ") + "nothing changes";
        }
        StepTrace& trace = folded_.steps[node.step];
        Note* const before = trace.notes.empty() ? nullptr : &trace.notes.back();
        if (before != nullptr && before->shape == made.shape && before->lies == made.lies && before->remark == made.remark &&
            before->source == source && !before->written && before->last + 1 == node.branch) {
            before->last = node.branch;
        } else if (trace.notes.size() < kNotes) {
            trace.notes.push_back(std::move(made));
        } else {
            trace.more = true;
        }
    }

    // The sources that lie alike, of those in a row.
    void note_sources() {
        StepTrace& trace = folded_.steps.front();
        const std::vector<Source>& sources = chain_.sources();
        for (std::size_t i = 0; i < sources.size(); ++i) {
            const auto& [shape, strides] = sources[i];
            const Source* const before = i == 0 ? nullptr : &sources[i - 1];
            if (before != nullptr && before->shape == shape && before->strides == strides) {
                trace.notes.back().last = i;
                continue;
            }
            if (trace.notes.size() == kNotes) {
                trace.more = true;
                return;
            }
            Note& made = trace.notes.emplace_back();
            const Mosaic alone(shape, strides, chain_.itemsize());
            made.first = made.last = i;
            made.shape = shape;
            made.lies = alone.describe();
            made.blocks = alone.pieces().size();
        }
    }

    // The array of `node` was noted as the last one, alone or at the end of several in a row.
    void note_written(const Node& node, const Mosaic& mosaic, std::size_t pass) {
        StepTrace& trace = folded_.steps[node.step];
        if (trace.notes.empty() || trace.notes.back().last != node.branch) return;
        if (Note& all = trace.notes.back(); all.first != all.last) {
            Note alone = all;
            --all.last;
            alone.first = alone.last;
            if (trace.notes.size() == kNotes) {
                trace.more = true;
                return;
            }
            trace.notes.push_back(std::move(alone));
        }
        trace.notes.back().written = pass;
        trace.notes.back().why = "written to memory here, " + std::to_string(mosaic.bytes()) + " bytes by pass " +
                                 std::to_string(pass + 1) + ", and read again by pass " + std::to_string(pass + 2) +
                                 ": together with what follows it would take more than " + counted(max_nests_, "strided cop") +
                                 " (max_nests)" +
                                 (max_nests_ <= kFewNests ? "" : ", or many that use little of each cache line");
    }

    // "split(axis=1, num_splits=2): 2 outputs"
    std::string heading(std::size_t step) const {
        if (step == 0)
            return chain_.joins() ? std::to_string(chain_.sources().size()) +
                                        (chain_.sources().size() == 1 ? " input in a list" : " inputs")
                                  : "input";
        const Step& made = *chain_.steps()[step - 1];
        const Level& level = *chain_.levels()[step];
        const std::size_t count = level.shapes.size();
        std::string text = abbreviated(made.text());
        if (made.turns(count)) {
            const Branches& active = level.active;
            text += active.end - active.begin == count
                        ? ": to every output again"
                        : ": to output " + std::to_string(active.begin) + " of " + std::to_string(count);
        } else if (made.splits()) {
            text += ": " + std::to_string(count) + (count == 1 ? " output" : " outputs");
        }
        return text;
    }

    const Chain& chain_;
    std::size_t max_nests_;
    bool traced_;
    std::size_t given_ = 0;  // nests more than one that the sources take
    std::map<std::pair<Node, bool>, Cost> costs_;  // by node, and whether no further intermediate may be
    std::vector<std::vector<Kept>> made_;  // by compose(), of each level and branch; the first of them
    std::vector<std::int64_t> least_;
    std::set<std::pair<Base, Node>> written_;
    std::size_t most_ = kMostComposed;         // boxes that the search may make
    std::size_t least_walk_ = kLeastComposed;  // boxes that a walk from an intermediate may make
    std::size_t walk_end_ = 0;     // boxes made, after which the walk from the latest base ends
    std::size_t kept_ = 0;         // pieces in made_, and those that were made since
    bool bears_excess_ = false;    // an intermediate may take too many nests
    Folded folded_;
};

}  // namespace

bool is_plain_copy(const std::vector<Nest>& nests) {
    if (nests.size() != 1) return false;
    const auto& loops = nests.front().loops;
    return loops.empty() || (loops.size() == 1 && !loops[0].table && loops[0].src_stride == loops[0].dst_stride);
}

std::string Folded::trace() const {
    std::string text;
    for (std::size_t step = 0; step < steps.size(); ++step) {
        const StepTrace& trace = steps[step];
        text += (step == 0 ? "" : "step " + std::to_string(step) + " ") + trace.heading + "\n";
        for (const Note& note : trace.notes) {
            std::string range = std::to_string(note.first);
            if (note.first != note.last) range += " to " + std::to_string(note.last);
            const std::string lead = trace.branches > 1 ? (step == 0 ? "    input " : "    output ") + range + ": " : "    ";
            text += lead + to_string(note.shape) + ": " + note.lies + (note.remark.empty() ? "" : ", " + note.remark) + "\n";
            if (note.written) text += lead + note.why + "\n";
        }
        if (trace.more) text += "    ...\n";
    }
    if (cut_short) {
        text += "the search for the arrays to write to memory ended after " + std::to_string(composed) +
                " strided boxes with the best it had found; others may take fewer passes, bytes or copies\n";
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (i == kNotes) return text + "...\n";
        const Written& output = outputs[i];
        const std::vector<Nest> nests = output.mosaic.dense_nests();
        std::int64_t copies = 0;
        for (const Transfer& transfer : transfers_of(output.mosaic, {}, {}, 0, 0)) copies += transfer.repeat.count;
        const bool from_each = nests.size() == 1 && copies > 1;
        text += "output " + std::to_string(i) + ": written by pass " + std::to_string(output.pass + 1) + " in " +
                (is_plain_copy(nests) ? "one copy of consecutive bytes"
                 : from_each          ? "one strided copy from each of " + std::to_string(copies) + " sources"
                                      : counted(static_cast<std::size_t>(copies), "strided cop")) +
                (output.finish.sink ? ", " + output.finish.sink->describe() : "") + "\n";
    }
    return text;
}

Folded fold(const Chain& chain, std::size_t max_nests, bool traced) { return Folder(chain, max_nests, traced).run(); }

std::vector<Transfer> Folded::transfers(std::size_t pass, const std::vector<Dims>& strides) const {
    std::vector<Transfer> all;
    int dst = 0;
    const auto append = [&](const Written& written, const Dims& lies) {
        const int first = written.source == 0 ? 0 : sources + written.source - 1;
        for (Transfer& transfer : transfers_of(written.mosaic, lies, written.finish, first, dst)) {
            all.push_back(std::move(transfer));
        }
    };
    for (std::size_t i = 0; i < outputs.size(); ++i, ++dst) {
        if (outputs[i].pass == pass) append(outputs[i], strides.empty() ? Dims{} : strides[i]);
    }
    for (const Written& written : intermediates) {
        if (written.pass == pass) append(written, {});
        ++dst;
    }
    return all;
}

}  // namespace dnnmove::chain
