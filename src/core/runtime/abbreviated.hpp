// Text that quotes what a caller gave, cut to a length that a person reads.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dnnmove {

// No message and no repr is longer, in bytes; and no word of the caller's in them.
inline constexpr std::size_t kMostText = 2000;
inline constexpr std::size_t kMostQuoted = 120;

// The text, or its beginning and its end with the number of bytes left out between them: at most `most` bytes, which
// is at least 80. Cuts no UTF-8 sequence in two.
std::string abbreviated(std::string_view text, std::size_t most = kMostText);

}  // namespace dnnmove
