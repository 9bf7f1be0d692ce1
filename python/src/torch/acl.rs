//! A dump of a program that an `acl.json` describes.

use std::path::{Path, PathBuf};

use opscope::dump::{DumpFormat, Request};
use opscope_acl_json::{AclConfig, AclError, DumpSection, Problem};
use opscope_job::benchmark::apply_acl_json_to_program;
use opscope_torch::Program;
use pyo3::prelude::*;

use crate::failure::{Failure, input};

/// The text of an `acl.json`, and the directory that paths in it are relative to.
#[derive(FromPyObject)]
pub struct AclText(String, PathBuf);

/// What a file dumps.
pub struct AclDump(DumpSection);

impl AclDump {
    pub fn read(AclText(text, working_dir): &AclText) -> Result<Self, Failure> {
        let config = AclConfig::parse(text, working_dir).map_err(|problems| wrong(&problems))?;
        let dump = config.dump_of_program().map_err(|AclError(problems)| wrong(&problems))?;
        Ok(Self(dump.clone()))
    }

    /// Returns how the file dumps a program, and notes for the user.
    pub fn request(&self, program: &Program) -> Result<(Request, &'static DumpFormat, Vec<String>), Failure> {
        let applied = apply_acl_json_to_program(&self.0, program.header());
        let (request, format, notes) = applied.map_err(|AclError(problems)| wrong(&problems))?;
        Ok((request, format, notes.iter().map(ToString::to_string).collect()))
    }

    /// Returns what the file names and the program has not executed.
    pub fn unknown(&self, program: &Program) -> Vec<String> {
        let problems = self.0.check_found(program.header(), program.found_operators());
        problems.iter().map(ToString::to_string).collect()
    }
}

fn wrong(problems: &[Problem]) -> Failure {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Failure::input(lines.join("\n"))
}

/// Reads an `acl.json` that describes the dump of a program. Returns its text, the directory that it names for a dump
/// of this name, and notes for the user.
#[pyfunction]
pub fn read_acl_json(path: PathBuf, working_dir: PathBuf, name: &str) -> PyResult<(String, PathBuf, Vec<String>)> {
    let config = AclConfig::read(&path, &working_dir).map_err(|problems| wrong(&problems))?;
    let dump = config.dump_of_program().map_err(|AclError(problems)| wrong(&problems))?;
    let text = opscope::files::read_text(&path, opscope_acl_json::LARGEST_FILE).map_err(input)?;
    let notes = config.notes.iter().map(ToString::to_string).collect();
    Ok((text, dump.directory(Path::new(name)), notes))
}
