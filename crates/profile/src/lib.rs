//! opscope-profile
