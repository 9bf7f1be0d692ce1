//! opscope-engine-tract
