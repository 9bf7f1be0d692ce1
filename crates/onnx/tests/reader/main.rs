//! Files from elsewhere: what is read from them, and what is said of those that are no graphs.

mod damaged;
mod external;
mod files;
mod graphs;
mod wire;
