//! opscope-dump
