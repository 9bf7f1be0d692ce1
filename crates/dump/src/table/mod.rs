//! Tables: as text for terminals, and as comma-separated values.

pub(crate) mod csv;
pub(crate) mod text;
