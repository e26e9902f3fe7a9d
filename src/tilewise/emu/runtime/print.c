// vprintf and failed assertions. Formats are the kernel's and not trusted: each conversion is taken apart, its argument read from where the
// thread put it, and a conversion of our own making given to snprintf. There is no %n.
#include <stdio.h>
#include <string.h>

#include "tilewise.h"

enum { LONGEST_STRING = 4096, WIDEST = 512, SPELLING = 32 };

// What a lane prints: its place in the format and among its arguments, which stand aligned to their size.
struct printing {
    struct tw_context* context;
    uint32_t lane;
    uint64_t format, arguments;
    uint32_t count;
    int failed;  // something was not readable, at this address
    uint64_t bad;
};

struct conversion {
    char flags[8];
    int width, precision;  // negative: none
    int long_;             // 1 for l, ll, j, z and t; negative for h and hh
    char letter;
};

static void put(struct tw_context* context, const char* text, uint64_t size) {
    const uint64_t room = context->print_capacity - context->print_used, taken = size < room ? size : room;
    memcpy(context->print_text + context->print_used, text, taken);
    context->print_used += taken;
    context->print_lost += size - taken;
}

static void fail(struct printing* printing, uint64_t address) {
    if (!printing->failed) printing->bad = address;
    printing->failed = 1;
}

static int read_byte(struct printing* printing, uint64_t address) {
    uint8_t byte = 0;
    if (!tw_read(printing->context, printing->lane, address, &byte, 1)) fail(printing, address);
    return byte;
}

static uint64_t next_argument(struct printing* printing, uint32_t size) {
    uint64_t value = 0;
    uint32_t word = 0;
    printing->arguments = (printing->arguments + size - 1) / size * size;
    if (!tw_read(printing->context, printing->lane, printing->arguments, size == 8 ? (void*)&value : (void*)&word, size))
        fail(printing, printing->arguments);
    printing->arguments += size;
    printing->count += 1;
    return size == 8 ? value : word;
}

// Copies a string of the kernel's, as much as there is room for; returns its length there.
static uint32_t copy_string(struct printing* printing, uint64_t address, char* text, uint32_t room) {
    uint32_t length = 0;
    while (length < room && !printing->failed) {
        const char letter = (char)read_byte(printing, address + length);
        if (!letter || printing->failed) break;
        text[length++] = letter;
    }
    return length;
}

static int read_number(struct printing* printing) {
    int number = 0;
    if (read_byte(printing, printing->format) == '*') {
        ++printing->format;
        number = (int32_t)next_argument(printing, 4);
    }
    for (int letter; (letter = read_byte(printing, printing->format)) >= '0' && letter <= '9'; ++printing->format)
        number = number < WIDEST ? 10 * number + letter - '0' : WIDEST;
    return number > WIDEST ? WIDEST : number < -WIDEST ? -WIDEST : number;
}

static struct conversion read_conversion(struct printing* printing) {
    struct conversion found = {.width = -1, .precision = -1};
    uint32_t flags = 0;
    for (int letter; (letter = read_byte(printing, printing->format)) && strchr("-+ #0", letter); ++printing->format)
        if (flags < sizeof found.flags - 1 && !strchr(found.flags, letter)) found.flags[flags++] = (char)letter;
    found.width = read_number(printing);
    if (found.width < 0) {
        found.width = -found.width;
        if (!strchr(found.flags, '-')) found.flags[flags++] = '-';
    }
    if (read_byte(printing, printing->format) == '.') {
        ++printing->format;
        found.precision = read_number(printing);
    }
    for (int letter; (letter = read_byte(printing, printing->format)) && strchr("hlLjzt", letter); ++printing->format)
        found.long_ += letter == 'h' ? -1 : 1;
    found.letter = (char)read_byte(printing, printing->format);
    if (found.letter) ++printing->format;
    return found;
}

static int64_t as_signed(const struct conversion* conversion, uint64_t value) {
    switch (conversion->long_) {
        case 0:
            return (int32_t)value;
        case -1:
            return (int16_t)value;
        case -2:
            return (int8_t)value;
        default:
            return (int64_t)value;
    }
}

static uint64_t as_unsigned(const struct conversion* conversion, uint64_t value) {
    return conversion->long_ == -1 ? (uint16_t)value : conversion->long_ == -2 ? (uint8_t)value : value;
}

// Spells "%", flags, "*.*" and `rest`.
static void spell(const struct conversion* conversion, const char* rest, char* spelling) {
    snprintf(spelling, SPELLING, "%%%s*.*%s", conversion->flags, rest);
}

static void print_conversion(struct printing* printing, const struct conversion* conversion) {
    char spelling[SPELLING], rest[8] = {'l', 'l', conversion->letter, 0}, text[2 * WIDEST + 512];
    const int width = conversion->width, precision = conversion->precision;
    const uint32_t size = conversion->long_ > 0 ? 8 : 4;
    int length = 0;
    switch (conversion->letter) {
        case 'd':
        case 'i':
            spell(conversion, rest, spelling);
            length =
                snprintf(text, sizeof text, spelling, width, precision, (long long)as_signed(conversion, next_argument(printing, size)));
            break;
        case 'o':
        case 'u':
        case 'x':
        case 'X':
            spell(conversion, rest, spelling);
            length = snprintf(text, sizeof text, spelling, width, precision,
                              (unsigned long long)as_unsigned(conversion, next_argument(printing, size)));
            break;
        case 'c':
            spell(conversion, "c", spelling);
            length = snprintf(text, sizeof text, spelling, width, -1, (int)next_argument(printing, 4));
            break;
        case 'p':
            length = snprintf(text, sizeof text, "%*s0x%llx", 0, "", (unsigned long long)next_argument(printing, 8));
            break;
        case 'a':
        case 'A':
        case 'e':
        case 'E':
        case 'f':
        case 'F':
        case 'g':
        case 'G': {
            const uint64_t bits = next_argument(printing, 8);
            double value;
            memcpy(&value, &bits, sizeof value);
            spell(conversion, &rest[2], spelling);
            length = snprintf(text, sizeof text, spelling, width, precision, value);
            break;
        }
        case 's': {
            char string[LONGEST_STRING];
            const uint32_t room = precision >= 0 ? (uint32_t)precision : LONGEST_STRING;
            const uint32_t taken = copy_string(printing, next_argument(printing, 8), string, room < LONGEST_STRING ? room : LONGEST_STRING);
            for (int pad = (int)taken; !strchr(conversion->flags, '-') && pad < width; ++pad) put(printing->context, " ", 1);
            put(printing->context, string, taken);
            for (int pad = (int)taken; strchr(conversion->flags, '-') && pad < width; ++pad) put(printing->context, " ", 1);
            return;
        }
        case '%':
            put(printing->context, "%", 1);
            return;
        default:  // an unknown conversion, %n among them, prints nothing and takes nothing
            return;
    }
    put(printing->context, text, length < 0 ? 0 : length < (int)sizeof text ? (uint64_t)length : sizeof text - 1);
}

static void print_lane(struct printing* printing) {
    for (uint32_t length = 0; length < LONGEST_STRING && !printing->failed; ++length) {
        const char letter = (char)read_byte(printing, printing->format);
        if (!letter || printing->failed) return;
        ++printing->format;
        if (letter != '%') {
            put(printing->context, &letter, 1);
            continue;
        }
        const struct conversion conversion = read_conversion(printing);
        if (!printing->failed) print_conversion(printing, &conversion);
    }
}

// context->values holds each lane's format and arguments (generic addresses, uint64_t); takes what the call returns, a number of arguments
// or -1, as int32_t.
void tw_print(struct tw_context* context, struct tw_warp* warp, uint32_t site, uint32_t mask) {
    uint64_t words[2 * TW_LANES];
    memcpy(words, context->values, sizeof words);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        struct printing printing = {.context = context, .lane = lane, .format = words[lane], .arguments = words[TW_LANES + lane]};
        print_lane(&printing);
        if (printing.failed) tw_report(context, warp, TW_OUT_OF_BOUNDS, site, lane, printing.bad);
        const int32_t result = printing.failed ? -1 : (int32_t)printing.count;
        memcpy(context->values + 4 * lane, &result, sizeof result);
    }
}

// context->values holds each lane's message, file, line and function. The launch ends.
void tw_assert(struct tw_context* context, struct tw_warp* warp, uint32_t site, uint32_t mask) {
    const uint64_t* words = (const uint64_t*)(const void*)context->values;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        struct printing printing = {.context = context, .lane = lane};
        struct tw_fault* fault = tw_report(context, warp, TW_ASSERT, site, lane, words[2 * TW_LANES + lane]);
        if (!fault || fault->count > 1) continue;
        const uint32_t room = sizeof fault->text - 1, length = copy_string(&printing, words[lane], fault->text, room);
        fault->text[length] = 0;
    }
    *context->stop = 1;
}
