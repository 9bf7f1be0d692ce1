use std::path::PathBuf;
use std::time::Duration;

/// How pieces get from the engine to a sink.
#[derive(Debug, Clone)]
pub enum Delivery {
    /// On the engine's thread, while the run waits. Pieces are the engine's own memory. Nothing is copied.
    Direct,
    /// On a thread of the subscription. Pieces are copied into bounded memory.
    Queued(Flow),
}

/// The bounds of a queue.
#[derive(Debug, Clone)]
pub struct Flow {
    /// The maximum number of bytes in the queue, including the queue's own.
    pub cap: usize,
    /// What happens when the queue is full.
    pub policy: Policy,
}

/// What happens to a tensor when the queue is full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// The run waits. If the sink takes nothing for this long, the subscription is given up, so that a sink that hangs
    /// does not make the run hang.
    Block {
        /// How long to wait.
        patience: Duration,
    },
    /// A tensor that does not fit as a whole is not delivered. It is counted and listed.
    Drop,
    /// Pieces that do not fit wait in an unnamed file in this directory. Half of the cap is for data in memory, and
    /// half for the list of pieces in the file. When that list is full, too (after some hundred thousand pieces), the
    /// run waits.
    Spill {
        /// The directory.
        directory: PathBuf,
    },
}

impl Policy {
    /// Returns every policy, with the default patience and the system's directory for temporary files.
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
    /// The default cap: 224 MiB. Including the tensor that waits for space and the overhead of the allocator, a dump
    /// makes a process grow by less than 256 MiB.
    pub const DEFAULT_CAP: usize = 224 << 20;
    /// The default patience.
    pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(60);
    /// The smallest cap, which replaces any smaller one.
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
