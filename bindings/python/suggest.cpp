// What an unknown keyword argument was probably meant to be.
#include "python/suggest.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace dnnmove {
namespace {

// Our name, and what NumPy, PyTorch, JAX, ONNX, OpenVINO, einops and oneDNN call the same thing. The first row that
// has the word and whose name the function takes counts.
struct Row {
    std::string_view name;
    std::vector<std::string_view> words;
};

const std::vector<Row>& rows() {
    static const std::vector<Row> table = {
        {"input_order", {"axes", "axis", "perm", "permutation", "dims", "dim", "order"}},
        {"axis", {"dim", "axes", "dimension"}},
        {"split_lengths",
         {"sections", "lengths", "sizes", "split", "splits", "split_size", "split_sizes", "split_size_or_sections",
          "indices_or_sections", "indices"}},
        {"num_splits",
         {"sections", "indices_or_sections", "num_split", "num_outputs", "num_parts", "n", "chunks", "parts", "splits",
          "split_size_or_sections"}},
        {"target_shape", {"shape", "size", "sizes", "newshape", "dims"}},
        {"axes_mapping", {"mapping", "axes_map", "axis_mapping", "broadcast_dimensions", "axes", "dims"}},
        {"shape", {"target_shape", "newshape", "size", "sizes", "dims"}},
        {"dims", {"shape", "size", "sizes"}},
        {"permutation", {"axes", "perm", "order", "input_order", "dims"}},
        {"offsets", {"offset", "start", "starts"}},
        {"dtype", {"data_type", "type"}},
        {"layout", {"strides", "tag", "format_tag", "format", "order", "memory_format"}},
        {"group", {"groups", "num_groups", "n_groups"}},
        {"data_desc", {"desc", "md", "src_desc", "src_md", "data_md", "memory_desc", "diff_data_desc", "data"}},
        {"diff_data_desc", {"desc", "md", "diff_dst_desc", "diff_src_desc", "data_desc", "memory_desc", "data"}},
        {"src_desc", {"src_md", "data_desc", "desc", "md"}},
        {"dst_desc", {"dst_md"}},
        {"diff_src_desc", {"diff_src_md", "diff_data_desc"}},
        {"diff_dst_desc", {"diff_dst_md", "diff_data_desc"}},
        {"desc", {"md", "memory_desc", "data_desc", "pd", "primitive_desc"}},
        {"pd", {"desc", "primitive_desc"}},
        {"hint_fwd_pd", {"hint", "hint_pd", "fwd_pd", "hint_fwd", "forward_pd"}},
        {"prop_kind", {"prop", "propagation", "propagation_kind", "aprop_kind"}},
        {"implementation", {"impl", "backend"}},
        {"engine", {"eng", "aengine"}},
        {"kind", {"engine_kind", "device"}},
        {"buffer", {"handle", "data_handle", "ptr", "array", "data"}},
        {"src_mem", {"src", "source", "src_memory"}},
        {"dst_mem", {"dst", "destination", "dst_memory"}},
        {"arrays", {"tensors", "xs", "inputs", "seq", "sequence", "data", "x"}},
        {"diff_dst", {"dy", "dout", "grad", "grad_output", "gradient", "data", "x", "a", "input", "array"}},
        {"data", {"x", "a", "arr", "array", "ary", "m", "input", "tensor", "src", "self", "operand", "image"}},
        {"array", {"x", "a", "arr", "data", "ary", "input", "tensor", "src"}},
        {"x", {"data", "a", "arr", "array", "ary", "input", "tensor", "src"}},
        {"out", {"dst", "output", "outputs", "y", "result", "outs"}},
        {"args", {"arguments", "exec_args", "memories"}},
        {"key", {"item", "index", "slices", "idx"}},
        {"n", {"num_threads", "threads", "nthreads", "capacity", "size"}},
    };
    return table;
}

bool contains(const std::vector<std::string_view>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

// Insertions, deletions and replacements that turn `a` into `b`; letters of either case are the same.
std::size_t edits(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t k = 0; k < b.size(); ++k) {
            const bool same = std::tolower(static_cast<unsigned char>(a[i])) == std::tolower(static_cast<unsigned char>(b[k]));
            const std::size_t replaced = diagonal + (same ? 0 : 1);
            diagonal = row[k + 1];
            row[k + 1] = std::min({replaced, row[k] + 1, diagonal + 1});
        }
    }
    return row[b.size()];
}

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

// The two meanings of a shuffle must not be taken for one another: another number would go by the right name.
std::string other_shuffle(std::string_view keyword, const std::vector<std::string_view>& names) {
    const std::vector<std::string_view> counts{"group", "groups", "num_groups", "n_groups", "g"};
    if (contains(counts, keyword) && contains(names, "group_size")) {
        return ": 'group_size' is the size of one group; shuffle_channels counts groups (for a number of groups g, "
               "group_size is the axis' length divided by g)";
    }
    if (keyword == "group_size" && contains(names, "group")) {
        return ": 'group' is the number of groups; shuffle takes the size of one (for a group_size s, group is the "
               "axis' length divided by s)";
    }
    return {};
}

}  // namespace

std::string suggestion(std::string_view keyword, const std::vector<std::string_view>& names) {
    if (std::string text = other_shuffle(keyword, names); !text.empty()) return text;
    for (const Row& row : rows()) {
        if (contains(row.words, keyword) && contains(names, row.name)) return ": did you mean " + quoted(row.name) + "?";
    }
    std::string_view closest;
    std::size_t fewest = keyword.size() < 4 ? 1 : keyword.size() < 8 ? 2 : 3;
    for (const std::string_view name : names) {
        const std::size_t count = edits(keyword, name);
        if (count > fewest || count >= name.size() || (count == fewest && !closest.empty())) continue;
        closest = name;
        fewest = count;
    }
    if (!closest.empty()) return ": did you mean " + quoted(closest) + "?";
    if (names.empty()) return "; it takes no arguments";
    std::string text = "; it takes ";
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + quoted(names[i]);
    }
    return text;
}

}  // namespace dnnmove
