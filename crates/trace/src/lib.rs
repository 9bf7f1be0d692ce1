//! opscope-trace
