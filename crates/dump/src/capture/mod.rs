//! How tensors get from a run to the sinks: selection, queues and losses.

pub(crate) mod driver;
pub(crate) mod dumper;
pub(crate) mod estimate;
pub(crate) mod observer;
pub(crate) mod open;
pub(crate) mod queue;
pub(crate) mod routes;
pub(crate) mod selection;
pub(crate) mod subscription;
pub(crate) mod worker;
