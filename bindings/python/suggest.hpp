// What an unknown keyword argument was probably meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dnnmove {

// The end of the message for an unknown `keyword` of a function that takes `names`: the name that other libraries'
// word or a slip of the finger stands for, or all names. Begins with ": " or "; ".
std::string suggestion(std::string_view keyword, const std::vector<std::string_view>& names);

}  // namespace dnnmove
