// A bulk copy that brings fewer bytes than its barrier expects.
// tilewise: --kernel cpy --grid 1 --block 128
// tilewise: --arg x=f32[256]:normal --arg y=f32[256]
// error async.mbarrier (deadlock): line 29 expects 2048 bytes but the only copy, line 30, delivers 1024; the wait on line 32 never
// ends
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
extern "C" __global__ void cpy(const float* x, float* y) {
  __shared__ alignas(128) float s[256];
  __shared__ alignas(8) unsigned long long bar;
  if (threadIdx.x == 0) {
    mb_init(sm(&bar), 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    mb_expect(sm(&bar), 2048);
    bulk_g2s(sm(s), x, 1024, sm(&bar));
  }
  mb_wait(sm(&bar), 0);
  for (int i = threadIdx.x; i < 256; i += 128) y[i] = s[i] * 2.f;
}
