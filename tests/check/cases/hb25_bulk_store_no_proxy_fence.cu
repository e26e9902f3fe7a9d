// A bulk store without a proxy fence.
// tilewise: --kernel cpy --grid 1 --block 128
// tilewise: --arg x=f32[256]:normal --arg y=f32[256]
// error async.proxy_fence: generic-proxy stores line 11 are read by the async proxy on line 15 with no fence.proxy.async between
//
//
//
extern "C" __global__ void cpy(const float* x, float* y) {
  __shared__ alignas(128) float s[256];
  for (int i = threadIdx.x; i < 256; i += 128)
    s[i] = x[i] + 1.f;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned a = (unsigned)__cvta_generic_to_shared(s);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(y), "r"(a) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
