// The copy ceiling: parallel memcpy, parallel non-temporal copy and fill, timed from inside.
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

constexpr std::size_t kPage = 4096;

// Copies [0, n); both pointers are 64-byte aligned, n is a multiple of 64 except for the last thread.
void stream_copy(char* to, const char* from, std::size_t n) {
    std::size_t i = 0;
#if defined(__AVX512F__)
    for (; i + 256 <= n; i += 256) {
        const __m512i a = _mm512_loadu_si512(from + i);
        const __m512i b = _mm512_loadu_si512(from + i + 64);
        const __m512i c = _mm512_loadu_si512(from + i + 128);
        const __m512i d = _mm512_loadu_si512(from + i + 192);
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), a);
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + 64), b);
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + 128), c);
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + 192), d);
    }
    _mm_sfence();
#elif defined(__AVX__)
    for (; i + 64 <= n; i += 64) {
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
        const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + 32));
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i), a);
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i + 32), b);
    }
    _mm_sfence();
#elif defined(__x86_64__)
    for (; i + 16 <= n; i += 16) {
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    }
    _mm_sfence();
#endif
    std::memcpy(to + i, from + i, n - i);
}

void stream_fill(char* to, std::size_t n) {
    std::size_t i = 0;
#if defined(__AVX512F__)
    const __m512i value = _mm512_set1_epi8(0x33);
    for (; i + 64 <= n; i += 64) _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), value);
    _mm_sfence();
#elif defined(__x86_64__)
    const __m128i value = _mm_set1_epi8(0x33);
    for (; i + 16 <= n; i += 16) _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), value);
    _mm_sfence();
#endif
    std::memset(to + i, 0x33, n - i);
}

enum Kind { kMemcpy, kStreamCopy, kMemset, kStreamFill };

void once(int kind, char* dst, const char* src, std::size_t bytes, int threads) {
#pragma omp parallel num_threads(threads)
    {
        const auto thread = static_cast<std::size_t>(omp_get_thread_num());
        const auto count = static_cast<std::size_t>(omp_get_num_threads());
        const std::size_t grain = bytes >= 64 * kPage ? kPage : 64;
        const std::size_t grains = (bytes + grain - 1) / grain;
        const std::size_t begin = std::min(bytes, grains * thread / count * grain);
        const std::size_t end = std::min(bytes, grains * (thread + 1) / count * grain);
        switch (kind) {
            case kMemcpy: std::memcpy(dst + begin, src + begin, end - begin); break;
            case kStreamCopy: stream_copy(dst + begin, src + begin, end - begin); break;
            case kMemset: std::memset(dst + begin, 0x33, end - begin); break;
            default: stream_fill(dst + begin, end - begin); break;
        }
    }
}

}  // namespace

// Runs one kind `number` times over [0, bytes) and returns the seconds of all of them together.
// `dst` and `src` are 64-byte aligned and do not overlap.
extern "C" double dnnmove_ceiling(int kind, void* dst, const void* src, std::uint64_t bytes, int threads, int number) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < number; ++i) {
        once(kind, static_cast<char*>(dst), static_cast<const char*>(src), bytes, threads);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
