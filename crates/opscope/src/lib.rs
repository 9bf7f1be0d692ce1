//! opscope
