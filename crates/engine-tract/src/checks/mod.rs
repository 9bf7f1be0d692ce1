//! Checks that refuse a model before the engine works on it, with a reason that helps.

pub(crate) mod attributes;
pub(crate) mod broadcasts;
pub(crate) mod limits;
pub(crate) mod support;
