//! `opscope machine`: what this machine reaches.

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::Path;

use clap::Args;
use opscope::text::Column::{Numbers, Words};
use opscope::text::{TextTable, shown_size, shown_text};
use opscope_job::roofline::{Roofline, keep, kept_or_measured, measure};
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::options::Environment;
use crate::terminal::{print, print_json};

/// The arguments of `opscope machine`.
#[derive(Debug, Args)]
pub struct MachineArguments {
    /// Numbers of threads [default: one and all processors]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    threads: Vec<NonZeroUsize>,
    /// Measure again, even if an earlier measurement is kept
    #[arg(long)]
    again: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &MachineArguments) -> Result<Exit, Failure> {
    let directory = std::env::vars_os().collect::<Environment>().cache_directory();
    let mut measured = Vec::new();
    for threads in counts(arguments)? {
        measured.push(one(threads, arguments.again, directory.as_deref())?);
    }
    if arguments.json {
        print_json(json!({ "schema": "opscope.machine/1", "machine": measured }))?;
    } else {
        print(text(&measured))?;
    }
    Ok(Exit::Done)
}

/// Returns the numbers of threads, ascending and each once. Numbers above the number of processors are refused, because
/// they would measure nothing new.
fn counts(arguments: &MachineArguments) -> Result<Vec<NonZeroUsize>, Failure> {
    let processors = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    if let Some(more) = arguments.threads.iter().find(|threads| **threads > processors) {
        let message = format!("--threads {more}: this process may use {processors} processors; give at most as many");
        return Err(Failure::wrong_use(message));
    }
    let mut counts = match arguments.threads.is_empty() {
        true => vec![NonZeroUsize::MIN, processors],
        false => arguments.threads.clone(),
    };
    counts.sort_unstable();
    counts.dedup();
    Ok(counts)
}

fn one(threads: NonZeroUsize, again: bool, directory: Option<&Path>) -> Result<Roofline, Failure> {
    if !again {
        return kept_or_measured(directory, threads).map_err(Failure::failed);
    }
    let machine = measure(threads).map_err(Failure::failed)?;
    if let Some(directory) = directory {
        keep(directory, &machine);
    }
    Ok(machine)
}

/// Formats a table for each number of threads.
fn text(measured: &[Roofline]) -> String {
    let processor = measured.first().map_or("", |machine| machine.processor.as_str());
    let mut text = shown_text(processor).into_owned();
    for machine in measured {
        let threads = if machine.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", machine.threads) };
        let mut table = TextTable::new([Words(""), Numbers("at most")]);
        for peak in &machine.peaks {
            let rate = format!("{:.1} GFLOP/s", peak.gflops_per_s);
            table.row([format!("multiply and add {}", peak.dtype), rate]);
        }
        for bandwidth in &machine.bandwidths {
            let rate = format!("{:.1} GB/s", bandwidth.gbytes_per_s);
            table.row([format!("read {}", shown_size(bandwidth.bytes)), rate]);
        }
        let _ = write!(text, "\n\n{threads}\n{}", table.text().trim_end());
    }
    text
}
