//! Files from untrusted sources: what is read from them, and the errors for invalid graphs.

mod bodies;
mod damaged;
mod external;
mod files;
mod graphs;
mod weights;
mod wire;
