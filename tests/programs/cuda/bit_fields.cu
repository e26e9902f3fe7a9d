// Unions and bit-fields: a float taken apart and put together, and RGB565 pixels widened to 8 bits a channel.
union Number {
    float value;
    struct {
        unsigned mantissa : 23, exponent : 8, sign : 1;
    } parts;
    unsigned char bytes[4];
};

// Multiply by two to the power `shift` where the exponent allows it, turn the sign where asked to, and say what the lowest byte was.
extern "C" __global__ void scale_exponents(const float* in, float* out, unsigned char* lowest, int shift, int negate, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Number number;
    number.value = in[i];
    lowest[i] = number.bytes[0];
    const int exponent = (int)number.parts.exponent + shift;
    if (number.parts.exponent && number.parts.exponent != 255 && exponent > 0 && exponent < 255) number.parts.exponent = exponent;
    if (negate) number.parts.sign ^= 1;
    out[i] = number.value;
}

struct Rgb565 {
    unsigned short blue : 5, green : 6, red : 5;
};

struct Signed {
    int low : 5, middle : 11, high : 16;
};

extern "C" __global__ void widen(const Rgb565* pixels, uchar3* colours, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Rgb565 p = pixels[i];
    colours[i] = make_uchar3(p.red << 3 | p.red >> 2, p.green << 2 | p.green >> 4, p.blue << 3 | p.blue >> 2);
}

extern "C" __global__ void add_signed_fields(const Signed* in, int* sums, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sums[i] = in[i].low + in[i].middle + in[i].high;
}
