use std::num::NonZeroU64;
use std::path::PathBuf;

use super::arguments::{MODEL, truth};
use super::refusal::Refusal;
use super::request::{Inputs, PureData};
use super::shapes::{self, ShapeChoice};

const SHAPES: &str = "Shapes of dynamic inputs";

/// What a model is fed with, as it stands on the command line of every command that runs one.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
#[allow(missing_docs)]
pub struct FeedArguments {
    /// Input files or directories, one for each of the model's inputs, with commas between them [also: -i]
    #[arg(long, value_name = "FILES", help_heading = MODEL)]
    pub input: Option<String>,
    /// What the model is fed with when there is no --input; zero if not given [also: -pdt]
    #[arg(long, value_enum, ignore_case = true, value_name = "TYPE", help_heading = MODEL)]
    pub pure_data_type: Option<PureData>,
    /// The seed of random input; 0 if not given
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
    pub dym_batch: Option<u64>,
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
    /// What the model is fed with.
    ///
    /// # Errors
    /// When `--input` is no list of files.
    pub fn inputs(&self) -> Result<Inputs, Refusal> {
        /// As in the original.
        const MOST: usize = 1024;
        let Some(list) = &self.input else {
            return Ok(Inputs::Generated {
                data: self.pure_data_type.unwrap_or_default(),
                seed: self.seed.unwrap_or(0),
            });
        };
        let refuse = |what| {
            let right = "write files or directories with commas between them, such as a.npy,b.npy";
            Err(Refusal::Value { option: "--input", what, right })
        };
        let files: Vec<PathBuf> = list.split(',').map(PathBuf::from).collect();
        if files.len() > MOST {
            return refuse(format!("{} entries are more than {MOST}", files.len()));
        }
        if files.iter().any(|file| file.as_os_str().is_empty()) {
            return refuse(format!("'{list}' has an empty entry"));
        }
        Ok(Inputs::Files(files))
    }

    /// The shapes of its dynamic inputs.
    ///
    /// # Errors
    /// When two options ask for shapes, or one cannot be read.
    pub fn shapes(&self) -> Result<ShapeChoice, Refusal> {
        let batch = self.dym_batch.and_then(NonZeroU64::new);
        let each_file = self.auto_set_dymshape_mode.unwrap_or(false);
        let each_file_too = self.auto_set_dymdims_mode.unwrap_or(false);
        let given: Vec<&'static str> = [
            (batch.is_some(), "--dym-batch"),
            (self.dym_hw.is_some(), "--dym-hw"),
            (self.dym_dims.is_some(), "--dym-dims"),
            (self.dym_shape.is_some(), "--dym-shape"),
            (self.dym_shape_range.is_some(), "--dym-shape-range"),
            (each_file, "--auto-set-dymshape-mode"),
            (each_file_too, "--auto-set-dymdims-mode"),
        ]
        .into_iter()
        .filter_map(|(given, option)| given.then_some(option))
        .collect();
        if let [first, second, ..] = given[..] {
            return Err(Refusal::Excludes { first, second, reason: "each of them sets the shapes of the inputs" });
        }
        if let Some(batch) = batch {
            return Ok(ShapeChoice::Batch(batch));
        }
        if let Some(text) = &self.dym_hw {
            return shapes::parse_height_width(text);
        }
        if let Some(text) = &self.dym_dims {
            return shapes::parse_set("--dym-dims", text).map(ShapeChoice::Fixed);
        }
        if let Some(text) = &self.dym_shape {
            return shapes::parse_set("--dym-shape", text).map(ShapeChoice::Fixed);
        }
        if let Some(text) = &self.dym_shape_range {
            return shapes::parse_range(text).map(ShapeChoice::Table);
        }
        if each_file || each_file_too {
            if self.input.is_none() {
                return Err(Refusal::Needs { option: given[0], needed: "--input, the files to take the shapes from" });
            }
            return Ok(ShapeChoice::FromEachFile);
        }
        Ok(ShapeChoice::FromInputs)
    }
}
