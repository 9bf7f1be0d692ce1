//! The queries about agents, queues, kernels, counters and operations.

mod agents;
mod counters;
mod kernels;
mod operations;
