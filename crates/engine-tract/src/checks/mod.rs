//! What is refused before the engine does it, with a reason that helps.

pub(crate) mod attributes;
pub(crate) mod broadcasts;
pub(crate) mod limits;
pub(crate) mod support;
