use std::io;

/// Why a machine could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum RooflineError {
    /// A thread could not be started.
    #[error("thread {thread} of {threads} for the measurement cannot be started: {source}; measure fewer threads")]
    Thread {
        /// Which thread, from 1.
        thread: usize,
        /// How many threads were requested.
        threads: usize,
        /// The system's reason.
        source: io::Error,
    },
}
