// A ring of bulk copies.
// tilewise: --kernel ring --grid 1 --block 64
// tilewise: --arg x=f32[6*256]:normal --arg y=f32[6*256]
// clean: no error, no warning (two slots, full barriers with parity (k/2)&1, block barrier before reuse)
//
//
//
//
__device__ __forceinline__ unsigned sm(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void mb_init(unsigned b, unsigned n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b), "r"(n) : "memory"); }
__device__ __forceinline__ void mb_expect(unsigned b, unsigned n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(n) : "memory"); }
__device__ __forceinline__ void mb_wait(unsigned b, unsigned ph) {
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra D; bra W; D: }" ::"r"(b), "r"(ph) : "memory");
}
__device__ __forceinline__ void bulk_g2s(unsigned d, const void* s, unsigned n, unsigned b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(d), "l"(s), "r"(n), "r"(b) : "memory");
}
__device__ __forceinline__ void bulk_s2g(void* d, unsigned s, unsigned n) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(d), "r"(s), "r"(n) : "memory");
}
extern "C" __global__ void ring(const float* x, float* y) {
  __shared__ alignas(128) float s[2][256];
  __shared__ alignas(8) unsigned long long full[2];
  int t = threadIdx.x;
  if (t == 0) {
    mb_init(sm(&full[0]), 1);
    mb_init(sm(&full[1]), 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (t == 0)
    for (int k = 0; k < 2; ++k) {
      mb_expect(sm(&full[k]), 1024);
      bulk_g2s(sm(s[k]), x + k * 256, 1024, sm(&full[k]));
    }
  for (int k = 0; k < 6; ++k) {
    int q = k & 1;
    mb_wait(sm(&full[q]), (k >> 1) & 1);
    for (int i = t; i < 256; i += 64) y[k * 256 + i] = s[q][i] + 1.f;
    __syncthreads();
    if (t == 0 && k + 2 < 6) {
      mb_expect(sm(&full[q]), 1024);
      bulk_g2s(sm(s[q]), x + (k + 2) * 256, 1024, sm(&full[q]));
    }
  }
}
