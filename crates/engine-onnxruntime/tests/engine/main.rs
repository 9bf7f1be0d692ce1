//! The engine on real files, with a library where one is found.

mod attribution;
mod bodies;
mod changes;
mod external;
mod files;
mod keeping;
mod order;
mod refusals;
mod support;
mod times;
mod types;
