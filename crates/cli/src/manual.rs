//! `opscope manual`, which `scripts/install` calls: the manual pages, one for `opscope` and one for each command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::exit::{Exit, Failure};
use crate::help::{ENVIRONMENT, EXIT_CODES, own, page as page_of};
use crate::terminal::shown_path;

/// The arguments of `opscope manual`.
#[derive(Debug, Args)]
pub struct ManualArguments {
    /// Where the pages are written to; what is there already is replaced
    directory: PathBuf,
}

/// Runs the command for the command line `opscope`.
pub fn run(arguments: &ManualArguments, opscope: Command) -> Result<Exit, Failure> {
    let mut opscope = own(&opscope).disable_help_subcommand(true);
    opscope.build();
    let commands: Vec<Command> = shown_commands(&opscope).cloned().collect();
    let names: Vec<String> = [&opscope].into_iter().chain(&commands).map(page_name).collect();
    for command in commands.into_iter().chain([opscope]) {
        let path = arguments.directory.join(format!("{}.1", page_name(&command)));
        let written = page(command, &names).and_then(|page| write(&path, &page));
        written.map_err(|error| Failure::failed(format!("{} cannot be written: {error}", shown_path(&path))))?;
    }
    Ok(Exit::Done)
}

fn shown_commands(opscope: &Command) -> impl Iterator<Item = &Command> {
    opscope.get_subcommands().filter(|command| !command.is_hide_set())
}

fn page_name(command: &Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}

fn write(path: &Path, page: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    fs::write(path, page)
}

/// Returns the page of a command, which refers to the pages of `names`.
fn page(mut command: Command, names: &[String]) -> io::Result<Vec<u8>> {
    let name = page_name(&command);
    // Without this, the synopsis would list every option.
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    let has_commands = shown_commands(&command).next().is_some();
    let manual = Man::new(command.override_usage(usage).subcommand_help_heading("COMMANDS"))
        .source(format!("opscope {}", env!("CARGO_PKG_VERSION")))
        .manual("opscope's manual");

    let mut page = Vec::new();
    manual.render_title(&mut page)?;
    manual.render_name_section(&mut page)?;
    manual.render_synopsis_section(&mut page)?;
    manual.render_description_section(&mut page)?;
    manual.render_options_section(&mut page)?;
    if has_commands {
        manual.render_subcommands_section(&mut page)?;
    }
    let mut end = Roff::new();
    let said = page_of(name.trim_start_matches("opscope").trim_start_matches('-'));
    if let Some(said) = said {
        end.control("SH", ["EXAMPLES"]);
        definitions(&mut end, &said.examples);
    }
    end.control("SH", ["ENVIRONMENT"]);
    definitions(&mut end, &ENVIRONMENT);
    if let Some(said) = said.filter(|said| !said.files.is_empty()) {
        end.control("SH", ["FILES"]);
        definitions(&mut end, said.files);
    }
    end.control("SH", ["EXIT STATUS"]);
    definitions(&mut end, &EXIT_CODES);
    end.control("SH", ["SEE ALSO"]);
    let others: Vec<&String> = names.iter().filter(|other| **other != name).collect();
    for (index, other) in others.iter().enumerate() {
        let separator = if index + 1 == others.len() { "" } else { "," };
        end.text([bold(other.as_str()), roman(format!("(1){separator}"))]);
    }
    end.to_writer(&mut page)?;
    Ok(page)
}

/// Writes a list of terms and their meanings.
fn definitions(section: &mut Roff, list: &[(&str, &str)]) {
    for (term, meaning) in list {
        section.control("TP", []).text([bold(*term)]).text([roman(*meaning)]);
    }
}
