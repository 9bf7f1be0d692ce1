//! The engine on real files, if a library is found.

mod attribution;
mod bodies;
mod changes;
mod external;
mod files;
mod keeping;
mod lent;
mod order;
mod refusals;
mod support;
mod times;
mod types;
