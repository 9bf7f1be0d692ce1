//! Stops a running model, looks at it, changes it, and lets it go on.

#![forbid(unsafe_code)]

pub mod expression;
