"""From a parsed kernel to LLVM IR: program, analysis, then kernel, which drives body (blocks), access (memory) and flow."""
