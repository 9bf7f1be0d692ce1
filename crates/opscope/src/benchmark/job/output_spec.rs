use std::path::PathBuf;

/// Where the outputs and the summary of a job go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSpec {
    /// The directory of all runs.
    pub directory: PathBuf,
    /// How the model's outputs are written.
    pub format: OutputFormat,
}

/// How the model's outputs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputFormat {
    /// numpy's format, with type and shape.
    Npy,
    /// The bytes alone.
    #[default]
    Bin,
    /// Numbers as text; a row of the last dimension is a line.
    Txt,
}

impl OutputFormat {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Npy, Self::Bin, Self::Txt];

    /// `NPY`, `BIN` or `TXT`, as on the command line of `ait benchmark`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Npy => "NPY",
            Self::Bin => "BIN",
            Self::Txt => "TXT",
        }
    }
}
