"""Lowering: from a parsed kernel to LLVM IR. program -> analysis -> kernel, which drives body (blocks), access (memory) and flow."""
