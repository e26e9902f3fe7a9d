// Attention that does not rescale its sum when the maximum changes.
// tilewise: --kernel attn --grid 8 --block 32
// tilewise: --arg Q=f32[8,32]:normal --arg K=f32[16,32]:normal --arg V=f32[16,32]:normal
// tilewise: --arg O=f32[8,32]
// error wrong.result: when the running maximum changes, the old output accumulator is not multiplied by exp(m_old-m_new) (line 17
// scales only l)
//
//
extern "C" __global__ void attn(const float* Q, const float* K, const float* V, float* O) {
  int q = blockIdx.x, d = threadIdx.x;
  float m = -1e30f, l = 0.f, o = 0.f, qv = Q[q * 32 + d];
  for (int j = 0; j < 16; ++j) {
    float s = qv * K[j * 32 + d];
    for (int e = 16; e; e >>= 1) s += __shfl_xor_sync(0xffffffffu, s, e);
    s *= 0.17677669f;
    float mn = fmaxf(m, s), p = __expf(s - mn);
    l = l * __expf(m - mn) + p;
    o = o + p * V[j * 32 + d];
    m = mn;
  }
  O[q * 32 + d] = o / l;
}
