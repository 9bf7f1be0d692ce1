use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use opscope_job::inputs::{Data, GivenFiles, InputSpec, ShapeSpec};

use super::MODEL;
use crate::options::refusal::Refusal;
use crate::options::values::{height_width, one_of, shape_range, shape_set, truth};

const SHAPES: &str = "Shapes of dynamic inputs";

/// The inputs of a model, as they stand on the command line of every command that runs one.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
#[allow(missing_docs)]
pub struct FeedArguments {
    /// The inputs: NAME=FILE for one of them, an .npz file or a directory with all of them by name, or files and
    /// directories in their order, with commas between them; may be given several times [also: -i]
    #[arg(long, value_name = "FILES", help_heading = MODEL)]
    pub input: Vec<OsString>,
    /// The generated data if there is no --input [default: zero] [also: -pdt]
    #[arg(long, value_parser = one_of(Data::ALL, |data| data.name()), ignore_case = true, value_name = "TYPE")]
    #[arg(help_heading = MODEL)]
    pub pure_data_type: Option<Data>,
    /// The seed of random input [default: 0]
    #[arg(long, value_name = "N", help_heading = MODEL)]
    pub seed: Option<u64>,
    /// The shapes, such as "data:1,600;info:1,600" [also: -ds]
    #[arg(long, value_name = "SHAPES", help_heading = SHAPES)]
    pub dym_shape: Option<String>,
    /// Ranges of shapes, such as "data:1,3,200~224,224-300", or an .info file; a table over all of them [also: -dr]
    #[arg(long, value_name = "RANGES", help_heading = SHAPES)]
    pub dym_shape_range: Option<String>,
    /// The same as --dym-shape [also: -dd]
    #[arg(long, value_name = "SHAPES", help_heading = SHAPES)]
    pub dym_dims: Option<String>,
    /// The batch dimension [also: -db]
    #[arg(long, value_name = "N", help_heading = SHAPES)]
    pub dym_batch: Option<usize>,
    /// Height and width, such as 224,224 [also: -dhw]
    #[arg(long, value_name = "H,W", help_heading = SHAPES)]
    pub dym_hw: Option<String>,
    /// Take the shape from each input file; files are not joined to a batch [also: -asdsm]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = SHAPES)]
    pub auto_set_dymshape_mode: Option<bool>,
    /// The same as --auto-set-dymshape-mode [also: -asddm]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = SHAPES)]
    pub auto_set_dymdims_mode: Option<bool>,
}

impl FeedArguments {
    /// Returns the inputs of the model. Several files make a batch, unless each has its own shape.
    ///
    /// # Errors
    /// Returns an error if `--input` is not a list of files.
    pub fn inputs(&self) -> Result<InputSpec, Refusal> {
        if self.input.is_empty() {
            return Ok(InputSpec::Generated(
                self.pure_data_type.unwrap_or(Data::Zero).with_seed(self.seed.unwrap_or(0)),
            ));
        }
        Ok(InputSpec::Files { paths: given_files(&self.input)?, join: !self.shape_of_each_file() })
    }

    /// Returns the shapes of its dynamic inputs: one set, or several for a table.
    ///
    /// # Errors
    /// Returns an error if two options set shapes, or one cannot be read.
    pub fn shapes(&self) -> Result<Vec<ShapeSpec>, Refusal> {
        let batch = self.dym_batch.filter(|batch| *batch > 0);
        let given: Vec<&'static str> = [
            (batch.is_some(), "--dym-batch"),
            (self.dym_hw.is_some(), "--dym-hw"),
            (self.dym_dims.is_some(), "--dym-dims"),
            (self.dym_shape.is_some(), "--dym-shape"),
            (self.dym_shape_range.is_some(), "--dym-shape-range"),
            (self.auto_set_dymshape_mode == Some(true), "--auto-set-dymshape-mode"),
            (self.auto_set_dymdims_mode == Some(true), "--auto-set-dymdims-mode"),
        ]
        .into_iter()
        .filter_map(|(given, option)| given.then_some(option))
        .collect();
        if let [first, second, ..] = given[..] {
            return Err(Refusal::Excludes { first, second, reason: "each of them sets the shapes of the inputs" });
        }
        if self.shape_of_each_file() && self.input.is_empty() {
            return Err(Refusal::Needs { option: given[0], needed: "--input, the files to take the shapes from" });
        }
        if let Some(text) = &self.dym_shape_range {
            return Ok(shape_range(text)?.into_iter().map(ShapeSpec::Fixed).collect());
        }
        Ok(vec![if let Some(batch) = batch {
            ShapeSpec::Batch(batch)
        } else if let Some(text) = &self.dym_hw {
            height_width(text)?
        } else if let Some(text) = &self.dym_dims {
            ShapeSpec::Fixed(shape_set("--dym-dims", text)?)
        } else if let Some(text) = &self.dym_shape {
            ShapeSpec::Fixed(shape_set("--dym-shape", text)?)
        } else {
            ShapeSpec::Smallest
        }])
    }

    /// Returns the options that give another command the same inputs.
    pub fn words(&self) -> Vec<String> {
        let seed = self.seed.map(|seed| seed.to_string());
        let data = self.pure_data_type.map(|data| data.name().to_owned());
        let batch = self.dym_batch.map(|batch| batch.to_string());
        let own_shapes = self.shape_of_each_file().then(|| "true".to_owned());
        let options = [
            ("pure-data-type", &data),
            ("seed", &seed),
            ("dym-shape", &self.dym_shape),
            ("dym-shape-range", &self.dym_shape_range),
            ("dym-dims", &self.dym_dims),
            ("dym-batch", &batch),
            ("dym-hw", &self.dym_hw),
            ("auto-set-dymshape-mode", &own_shapes),
        ];
        let word = |(option, value): (&str, &Option<String>)| value.as_ref().map(|value| format!("--{option}={value}"));
        let inputs = self.input.iter().map(|list| format!("--input={}", list.display()));
        inputs.chain(options.into_iter().filter_map(word)).collect()
    }

    /// Returns whether each file has its own shape.
    pub fn shape_of_each_file(&self) -> bool {
        self.auto_set_dymshape_mode == Some(true) || self.auto_set_dymdims_mode == Some(true)
    }
}

/// Returns the files of `--input`, which may be given several times.
///
/// # Errors
/// Returns an error if an entry is empty, or there are too many.
pub fn given_files(lists: &[OsString]) -> Result<GivenFiles, Refusal> {
    /// As in the original tool.
    const MOST: usize = 1024;
    let refuse = |what| {
        let right = "write files or directories with commas between them, such as a.npy,b.npy, or NAME=FILE";
        Err(Refusal::Value { option: "--input", what, right })
    };
    let mut given = GivenFiles::default();
    for list in lists {
        let words = list.as_bytes().split(|byte| *byte == b',').map(OsStr::from_bytes);
        let paths: Vec<PathBuf> = words.map(PathBuf::from).collect();
        if paths.iter().any(|path| path.as_os_str().is_empty()) {
            return refuse(format!("'{}' has an empty entry", list.display()));
        }
        given.lists.push(paths);
    }
    let count: usize = given.lists.iter().map(Vec::len).sum();
    if count > MOST {
        return refuse(format!("{count} entries are more than {MOST}"));
    }
    Ok(given)
}
