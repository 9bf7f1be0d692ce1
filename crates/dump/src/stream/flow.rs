use std::path::PathBuf;
use std::time::Duration;

/// How pieces get from the engine to a sink.
#[derive(Debug, Clone)]
pub enum Delivery {
    /// On the engine's thread, while the run waits. Pieces are the engine's own memory; nothing is copied.
    Direct,
    /// On a thread of the subscription's own. Pieces are copied into memory that is bounded.
    Queued(Flow),
}

/// The bounds of a queue.
#[derive(Debug, Clone)]
pub struct Flow {
    /// The most bytes that wait, with what the queue itself takes.
    pub cap: usize,
    /// What happens when they do.
    pub policy: Policy,
}

/// What happens to a tensor when the queue is full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// The run waits. If the sink takes nothing for so long, the subscription is given up: a sink that hangs must not
    /// hang the run.
    Block {
        /// How long.
        patience: Duration,
    },
    /// A tensor that does not fit as a whole is not delivered. It is counted and named.
    Drop,
    /// What does not fit waits in a file that has no name, in this directory. Half of the cap is for data in memory,
    /// half for the list of what is in the file; when that is full, too (after some hundred thousand pieces), the run
    /// waits.
    Spill {
        /// The directory.
        directory: PathBuf,
    },
}

impl Policy {
    /// Every policy: with the default patience, and with the system's directory for temporary files.
    pub fn all() -> [Self; 3] {
        let block = Self::Block { patience: Flow::DEFAULT_PATIENCE };
        [block, Self::Drop, Self::Spill { directory: std::env::temp_dir() }]
    }

    /// `block`, `drop` or `spill`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Block { .. } => "block",
            Self::Drop => "drop",
            Self::Spill { .. } => "spill",
        }
    }
}

impl Flow {
    /// The default cap: 224 MiB. With the tensor that waits for room and what the allocator needs beside, a dump makes a process
    /// grow by less than 256 MiB.
    pub const DEFAULT_CAP: usize = 224 << 20;
    /// The default patience.
    pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(60);
    /// The smallest cap; a smaller one is taken as this.
    pub const SMALLEST_CAP: usize = 64 << 10;
}

impl Default for Flow {
    fn default() -> Self {
        Self { cap: Self::DEFAULT_CAP, policy: Policy::Block { patience: Self::DEFAULT_PATIENCE } }
    }
}

impl Default for Delivery {
    fn default() -> Self {
        Delivery::Queued(Flow::default())
    }
}
