use std::path::{Path, PathBuf};

use opscope_dump::{DumpFormat, Request};
use opscope_profile::{Format, ProfilerOptions, TimelineRuns};

/// What captures the runs of a job. It is one instrument at a time, because a dump lengthens the times that a profile
/// shows.
#[derive(Debug, Clone)]
pub enum CaptureSpec {
    /// Nothing, so that the times are as undisturbed as possible.
    Nothing,
    /// A profiler, which leaves a recording.
    Profile {
        /// The directory of the recording, which must not exist.
        directory: PathBuf,
        /// What is recorded.
        options: Box<ProfilerOptions>,
        /// The formats that the recording is exported to when it is closed.
        exports: Vec<Format>,
        /// Which runs the exported timelines show.
        timeline_runs: TimelineRuns,
    },
    /// A dumper, which leaves a dump. The model then runs at exact fidelity.
    Dump {
        /// The directory of the dump, which must not exist.
        directory: PathBuf,
        /// Which tensors, and how they get into the files.
        request: Box<Request>,
        /// The format of the files.
        format: &'static DumpFormat,
        /// Whether the elements of every tensor are also counted by powers of two.
        histograms: bool,
    },
}

impl CaptureSpec {
    /// The directory that the captured data goes to.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Nothing => None,
            Self::Profile { directory, .. } | Self::Dump { directory, .. } => Some(directory),
        }
    }
}
