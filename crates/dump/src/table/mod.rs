//! Tables: numbers for terminals, and comma-separated values.

pub(crate) mod csv;
pub(crate) mod number;
