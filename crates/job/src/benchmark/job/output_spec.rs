use std::path::PathBuf;

/// Where the outputs and the summary of a job go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSpec {
    /// The directory of all runs.
    pub directory: PathBuf,
    /// How the model's outputs are written.
    pub format: OutputFormat,
    /// What their files are named after.
    pub names: OutputNames,
}

/// What the files of outputs are named after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputNames {
    /// The output: `probabilities.npy`. With several runs or samples, a directory of that name has a file for each of
    /// them, named after the file of the first input.
    #[default]
    OfOutputs,
    /// The file of the first input, and the output's number, as with `ait benchmark`: `cat_0.npy`. Without input files
    /// it is `pure_infer_data_0.npy`.
    OfInputFiles,
}

/// How the model's outputs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputFormat {
    /// numpy's format, with type and shape.
    #[default]
    Npy,
    /// The bytes alone.
    Bin,
    /// Numbers as text, with a line for each row of the last dimension.
    Txt,
}

impl OutputFormat {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Npy, Self::Bin, Self::Txt];

    /// Returns `NPY`, `BIN` or `TXT`, as on the command line of `ait benchmark`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Npy => "NPY",
            Self::Bin => "BIN",
            Self::Txt => "TXT",
        }
    }
}

/// What happens if a run with the job's name exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TakenName {
    /// The new run gets the name with a number, such as `first-2`.
    #[default]
    Number,
    /// It is an error.
    Refuse,
    /// The new run replaces the old one when it is complete. Only files that a run wrote are removed.
    Replace,
}
