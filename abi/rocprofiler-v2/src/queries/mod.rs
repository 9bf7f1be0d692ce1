//! Queries: what tools ask of agents, queues, kernels, counters and operations.

mod agents;
mod counters;
mod kernels;
mod operations;
